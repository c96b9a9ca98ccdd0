/** Each rule of `pnpm check` is seen to fail on one planted breach, and a clean tree to pass. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { plantPackage, plantTree, runTool } from "./checks/planted-tree.mjs";

const tools = {
  biome: ["node_modules/@biomejs/biome/bin/biome", ["check", "."]],
  eslint: ["node_modules/eslint/bin/eslint.js", [".", "--max-warnings", "0"]],
  depcruise: [
    "node_modules/dependency-cruiser/bin/dependency-cruiser.mjs",
    ["--config", ".dependency-cruiser.cjs", "packages"],
  ],
  knip: ["node_modules/knip/bin/knip.js", []],
  tsc: ["node_modules/typescript/bin/tsc", ["--project", "packages/node-kit/tsconfig.json"]],
  sources: ["scripts/check-sources.mjs", []],
  licences: ["scripts/check-licences.mjs", []],
};

const rootManifest = `${JSON.stringify(
  {
    name: "planted",
    private: true,
    type: "module",
    devDependencies: { eslint: "10.15.0", typescript: "6.0.3", "typescript-eslint": "8.74.0" },
  },
  null,
  2,
)}
`;
const workspace = "packages:\n  - packages/*\n";

const clean = {
  "package.json": rootManifest,
  "pnpm-workspace.yaml": workspace,
  NOTICE: "nothing to name\n",
  ...plantPackage("node-kit", {
    "src/index.ts": 'export { add } from "./add.ts";\n',
    "src/add.ts":
      "/** Adds two numbers, so that the tree holds one honest file. */\nexport function add(a: number, b: number): number {\n  return a + b;\n}\n",
  }),
};

const header = "/** A planted breach. */\n";
const word = (first, second) => `${first}${second}`;

const breaches = {
  ...clean,
  "docs/ARCHITECTURE.md": "- **INV-1** kept and tested\n- **INV-2** kept, not tested\n- **INV-3** not kept\n",
  ...plantPackage(
    "node-kit",
    {
      "src/index.ts": 'export { add } from "./add.ts";\n',
      "src/add.ts": `${header}// INV-1, INV-2 and INV-99\nexport function add(a: number, b: number): number {\n  return a + b;\n}\n`,
      "src/add.test.ts": 'import { test } from "vitest";\ntest("INV-1 holds", () => {});\n',
      "src/format.ts": `${header}export const spaced   =   1\n`,
      "src/env.ts": `${header}export const home = process.env.HOME;\n`,
      "src/loose.ts": `${header}export function first(a: any): string {\n  return a.b!;\n}\n`,
      "src/loud.ts": `${header}console.log("said");\n`,
      "src/CamelCase.ts": `${header}export const camel = 1;\n`,
      "src/everything.ts": `${header}export * from "./add.ts";\n`,
      "src/floats.ts": `${header}async function work(): Promise<void> {}\nexport function start(): void {\n  work();\n}\n`,
      "src/misused.ts": `${header}async function check(): Promise<boolean> {\n  return true;\n}\nexport function run(): void {\n  if (check()) return;\n}\n`,
      "src/awaits.ts": `${header}export async function wait(): Promise<void> {\n  await 1;\n}\n`,
      "src/returns.ts": `${header}async function f(): Promise<void> {}\nexport async function g(): Promise<void> {\n  try {\n    return f();\n  } catch {\n    return;\n  }\n}\n`,
      "src/throws.ts": `${header}export function fail(): never {\n  throw "text";\n}\n`,
      "src/switches.ts": `${header}export function name(kind: "a" | "b"): string | undefined {\n  switch (kind) {\n    case "a":\n      return "a";\n  }\n}\n`,
      "src/defaults.ts": `${header}export function name(kind: "a" | "b"): string {\n  switch (kind) {\n    case "a":\n      return "a";\n    case "b":\n      return "b";\n    default:\n      return "c";\n  }\n}\n`,
      "src/params.ts": `${header}export function five(a: 1, b: 1, c: 1, d: 1, e: 1): number {\n  return a + b + c + d + e;\n}\n`,
      "src/long-function.ts": `${header}export function long(): void {\n${"  Math.random();\n".repeat(61)}}\n`,
      "src/huge-factory.ts": `${header}export function create(): (() => void)[] {\n  const all: (() => void)[] = [];\n${"  all.push(() => {\n    Math.random();\n    Math.random();\n    Math.random();\n    Math.random();\n  });\n".repeat(30)}  return all;\n}\n`,
      "src/complex.ts": `${header}export function tangled(n: number): number {\n${Array.from({ length: 16 }, (_, i) => `  if (n === ${i}) return ${i};\n`).join("")}  return n;\n}\n`,
      "src/patched.test.ts": `import { vi } from "vitest";\nvi.${word("mo", "ck")}("./add.ts");\n`,
      "src/long-file.ts": `${header}${"export {};\n".repeat(300)}`,
      "src/utils.ts": `${header}export const helper = 1;\n`,
      "src/headless.ts": "export const nothing = 1;\n",
      "src/unfinished.ts": `${header}// ${word("TO", "DO")}: later\nexport const later = 1;\n`,
      "src/mistyped.ts": `${header}export const count: number = "three";\n`,
      "src/round.ts": `${header}import { trip } from "./trip.ts";\nexport const round = (): number => trip();\n`,
      "src/trip.ts": `${header}import { round } from "./round.ts";\nexport const trip = (): number => round();\n`,
      "src/upward.ts": `${header}import { store } from "../../store/src/index.ts";\nexport const upward = store;\n`,
      "src/leftover.ts": `${header}import { add } from "./add.ts";\nexport function nothing(): void {\n  const unused = 1;\n}\n`,
      "src/forced.ts": `${header}export const forced = ("1" ${word("as unk", "nown as")} number) + 1;\n`,
      "src/alone.test.ts": `import { test } from "vitest";\ntest.${word("on", "ly")}("alone", () => {});\n`,
      "src/starter.ts": `${header}import { started } from "../../cli/src/main.ts";\nexport const starter = started;\n`,
      "src/undeclared.ts": `${header}import { z } from "turbo";\nexport const borrowed = z;\n`,
      "node_modules/badly/package.json": '{ "name": "badly", "version": "1.0.0", "license": "SSPL-1.0" }\n',
      "src/missing.ts": `${header}import { gone } from "./gone.ts";\nexport const missing = gone;\n`,
    },
    { dependencies: { badly: "1.0.0", pino: "^10.0.0" } },
  ),
  ...plantPackage(
    "store",
    {
      "src/index.ts": "export const store = 1;\n",
      "src/inner.ts": `${header}import { inside } from "../../node-kit/src/inside.ts";\nimport { fake } from "../../testkit/src/index.ts";\nexport const inner = [inside, fake];\n`,
    },
    { scripts: {} },
  ),
  "packages/node-kit/src/inside.ts": `${header}export const inside = 1;\n`,
  ...plantPackage("testkit", { "src/index.ts": "export const fake = 1;\n" }),
  ...plantPackage("protocol", {
    "src/index.ts":
      'import { readFileSync } from "node:fs";\nimport { create } from "@bufbuild/protobuf";\nexport const read = [readFileSync, create];\n',
  }),
  ...plantPackage("cli", { "src/main.ts": `${header}export const started = 1;\n` }),
  ...plantPackage("host", {
    "src/gateway/dispatch.ts": `${header}export const dispatch = 1;\n`,
    "src/turns/run.ts": `${header}import { dispatch } from "../gateway/dispatch.ts";\nexport const run = dispatch;\n`,
  }),
  ...plantPackage("stranger", {
    "src/index.ts": 'import { add } from "../../node-kit/src/index.ts";\nexport const sum = add;\n',
  }),
};

const expected = {
  biome: [
    ["format", /format\.ts format/],
    ["the environment outside config", /lint\/style\/noProcessEnv/],
    ["any", /lint\/suspicious\/noExplicitAny/],
    ["a non-null assertion", /lint\/style\/noNonNullAssertion/],
    ["console", /lint\/suspicious\/noConsole/],
    ["a name that isn't kebab-case", /lint\/style\/useFilenamingConvention/],
    ["a star export", /lint\/performance\/noReExportAll/],
    ["an unused import", /leftover\.ts[\s\S]*?lint\/correctness\/noUnusedImports/],
    ["an unused variable", /leftover\.ts[\s\S]*?lint\/correctness\/noUnusedVariables/],
  ],
  eslint: [
    ["a floating promise", /no-floating-promises/],
    ["a misused promise", /no-misused-promises/],
    ["awaiting a plain value", /await-thenable/],
    ["returning an unawaited promise in try", /return-await/],
    ["throwing what is no error", /only-throw-error/],
    ["a switch that misses a member", /switches\.ts[\s\S]*?switch-exhaustiveness-check/],
    ["a default that hides members", /defaults\.ts[\s\S]*?switch-exhaustiveness-check/],
    ["too many parameters", /max-params/],
    ["a long function", /long-function\.ts[\s\S]*?own-lines/],
    ["a factory that holds too much", /huge-factory\.ts[\s\S]*?max-lines-per-function/],
    ["a tangled function", /complexity/],
    ["a patched module", /no-restricted-syntax/],
  ],
  depcruise: [
    ["a cycle", /no-cycles/],
    ["an arrow upwards", /arrows-of-node-kit: packages\/node-kit\/src\/upward\.ts/],
    ["a way in beside the door", /only-by-the-door: packages\/store\/src\/inner\.ts/],
    ["a fake in what ships", /testkit-in-tests-only/],
    ["Node in the browser-safe package", /core-is-pure/],
    ["a package without a row", /package-without-a-row/],
    ["an import of nothing", /unresolvable/],
    ["protobuf behind the door of the browser", /protocol-door-without-protobuf/],
    ["a way back into the gateway", /nobody-imports-the-gateway: packages\/host\/src\/turns\/run\.ts/],
    ["an entry point that is imported", /nothing-imports-a-main: packages\/node-kit\/src\/starter\.ts/],
    [
      "a package that the manifest doesn't name",
      /undeclared-dependency: packages\/node-kit\/src\/undeclared\.ts/,
    ],
  ],
  knip: [
    ["an unused file", /Unused files[\s\S]*headless\.ts/],
    ["an unused dependency", /Unused dependencies[\s\S]*pino/],
  ],
  tsc: [["a wrong type", /mistyped\.ts.*TS2322/]],
  sources: [
    ["a long file", /long-file\.ts: 301 lines/],
    ["a name that says nothing", /utils\.ts: a file is named/],
    ["a file without a header", /headless\.ts: a file starts/],
    ["unfinished work", /unfinished\.ts: unfinished work/],
    ["a patched module", /patched\.test\.ts: modules are not patched/],
    ["a version that isn't exact", /pino is \^10\.0\.0/],
    ["a package without a type check", /packages\/store\/package\.json: has no typecheck/],
    ["an invariant that no test names", /INV-2 is in no test's title/],
    ["an invariant that no code keeps", /INV-3 is cited nowhere/],
    ["an invariant that isn't listed", /cites INV-99/],
    ["a double assertion", /forced\.ts: a double assertion/],
    ["a test that runs alone", /alone\.test\.ts: a test is run or removed/],
    ["a path of one machine", /where\.md: names a path of one machine/],
  ],
  licences: [["a licence that isn't permissive", /badly ships and is under SSPL-1\.0/]],
};

let good;
let bad;
beforeAll(() => {
  good = plantTree(clean);
  bad = plantTree(breaches);
  writeFileSync(join(bad.root, "docs", "where.md"), `it lies in ${bad.root}/docs\n`);
});
afterAll(() => {
  good?.remove();
  bad?.remove();
});

for (const [name, [program, args]] of Object.entries(tools)) {
  describe(name, () => {
    test("passes a clean tree", async () => {
      const ran = await runTool(good.root, program, args);
      expect({ code: ran.code, output: ran.code === 0 ? "" : ran.output }).toEqual({ code: 0, output: "" });
    });

    let found;
    for (const [breach, trace] of expected[name]) {
      test(`finds ${breach}`, async () => {
        found ??= runTool(bad.root, program, name === "biome" ? [...args, "--max-diagnostics=none"] : args);
        const ran = await found;
        expect(ran.code).not.toBe(0);
        expect(ran.output).toMatch(trace);
      });
    }
  });
}
