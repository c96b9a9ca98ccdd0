/**
 * What ships must carry a permissive licence; a tool of development may carry another one if NOTICE
 * names it. The installed manifests are read, so the answer is about what is really there.
 */
import { existsSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";

const root = process.argv[2] ?? process.cwd();
const permissive = new Set(
  "MIT ISC Apache-2.0 BSD-2-Clause BSD-3-Clause BlueOak-1.0.0 0BSD Unlicense CC0-1.0 Python-2.0".split(" "),
);
const notShipped = new Set(["testkit"]);

/** `(MIT AND X)` needs all of its parts, `(MIT OR X)` one of them. */
export function isPermissive(expression) {
  const plain = expression.replaceAll(/[()]/g, "");
  if (/\sOR\s/.test(plain)) return plain.split(/\s+OR\s+/).some((part) => isPermissive(part));
  return plain.split(/\s+AND\s+/).every((part) => permissive.has(part.trim()));
}

function readManifest(folder) {
  return JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
}

/** The folder that Node would find: beside the package first, then in each folder above it. */
function findInstalled(from, name) {
  for (let folder = from; folder !== dirname(folder); folder = dirname(folder)) {
    const candidate = join(folder, "node_modules", name);
    if (existsSync(join(candidate, "package.json"))) return realpathSync(candidate);
  }
  return undefined;
}

function collect(folder, includeDev, found) {
  const manifest = readManifest(folder);
  const names = Object.keys({
    ...manifest.dependencies,
    ...manifest.optionalDependencies,
    ...(includeDev ? manifest.devDependencies : {}),
  });
  for (const name of names) {
    if (name.startsWith("@sand/")) continue;
    const installed = findInstalled(folder, name);
    // Optional packages of other platforms aren't installed here.
    if (installed === undefined || found.has(installed)) continue;
    const dependency = readManifest(installed);
    found.set(installed, { name, licence: String(dependency.license ?? "none") });
    collect(installed, false, found);
  }
  return found;
}

function judge() {
  const named = readFileSync(join(root, "NOTICE"), "utf8").match(/[@\w./-]{4,}/g) ?? [];
  // A package of one platform is named by the package that brings it.
  const isNamed = (name) => named.some((word) => name === word || name.startsWith(`${word}-`));
  const shipped = new Map();
  const all = collect(root, true, new Map());
  for (const name of readdirSync(join(root, "packages"))) {
    const folder = join(root, "packages", name);
    if (!notShipped.has(name)) collect(folder, false, shipped);
    collect(folder, true, all);
  }
  const problems = [];
  for (const [path, { name, licence }] of all) {
    if (isPermissive(licence)) continue;
    if (shipped.has(path)) problems.push(`${name} ships and is under ${licence}`);
    else if (!isNamed(name)) problems.push(`${name} is under ${licence} and isn't in NOTICE`);
  }
  return { problems, shipped: shipped.size, all: all.size };
}

const { problems, shipped, all } = judge();
for (const problem of problems) console.error(problem);
if (problems.length > 0) process.exitCode = 1;
else console.log(`licences: ${shipped} packages ship, ${all} are installed, all accounted for`);
