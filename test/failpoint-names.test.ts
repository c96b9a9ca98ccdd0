/** A failpoint that no sweep knows proves nothing, and one that no source has is never hit. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  archiveFailpoints,
  boxStoreFailpoints,
  daemonFailpoints,
  hostFailpoints,
  keeperFailpoints,
  projectionFailpoints,
  upgradeDeaths,
} from "../packages/testkit/src/proofs/door.ts";

const root = join(import.meta.dirname, "..");

test("the sweep knows exactly the failpoints that the sources have", () => {
  const files = globSync("packages/{host,store,exec-daemon,inference}/src/**/*.ts", { cwd: root });
  const named = files
    .filter((file) => !file.endsWith(".test.ts"))
    .flatMap((file) => [
      ...readFileSync(join(root, file), "utf8").matchAll(/failpoint\(["`]([^"`]+)["`]\)/gu),
    ])
    .flatMap(([, name = ""]) =>
      name.startsWith("${") ? ["", "index."].map((mark) => name.replace(/^\$\{[^}]+\}/u, mark)) : [name],
    );
  const known: readonly string[] = [
    ...[...hostFailpoints, ...daemonFailpoints],
    ...[...keeperFailpoints, ...boxStoreFailpoints, ...archiveFailpoints, ...projectionFailpoints],
    ...upgradeDeaths.map(({ failpoint }) => failpoint),
  ];
  expect([...new Set(named)].sort()).toEqual([...known].sort());
});
