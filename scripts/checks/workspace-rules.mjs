/**
 * Rules over the manifests: exact versions, so that two clones install the same, and a type check
 * in every package, so that a new package can't be left out by accident.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const exact = /^(\d+\.\d+\.\d+([-+][\w.-]+)?|catalog:|workspace:\*)$/;

/** @param {string} root @returns {{path: string, rule: string}[]} */
export function checkWorkspace(root) {
  const packages = join(root, "packages");
  if (!existsSync(packages)) return [];
  const paths = readdirSync(packages).map((name) => `packages/${name}/package.json`);
  const findings = manifestFindings(root, "package.json", false);
  for (const path of paths) findings.push(...manifestFindings(root, path, true));
  return findings;
}

function manifestFindings(root, path, isPackage) {
  if (!existsSync(join(root, path))) return [];
  const manifest = JSON.parse(readFileSync(join(root, path), "utf8"));
  const findings = [];
  for (const [name, version] of Object.entries({ ...manifest.dependencies, ...manifest.devDependencies })) {
    if (!exact.test(version)) findings.push({ path, rule: `${name} is ${version}, not an exact version` });
  }
  if (isPackage && manifest.scripts?.typecheck === undefined) {
    findings.push({ path, rule: "has no typecheck script, so nothing checks its types" });
  }
  if (isPackage && manifest.license !== "MIT") findings.push({ path, rule: "has no licence" });
  return findings;
}
