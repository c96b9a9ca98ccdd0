/**
 * Writes every generated file again, or with `--check` says which ones would change.
 *
 * A check compares the files before and after: it leaves the fresh version in the tree, so that the
 * finding is mended by looking at it and committing it.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { repositoryRoot } from "./bundle/outputs.mjs";

/** each generator: what must exist for it, how it runs, and what it writes */
const generators = [
  {
    name: "protobuf code",
    needs: "proto/buf.gen.yaml",
    command: ["buf", "generate", "proto", "--template", "proto/buf.gen.yaml"],
    writes: ["packages/protocol/src/gen"],
  },
  {
    name: "model request schemas",
    needs: "packages/testkit/scripts/generate-model-schemas.mjs",
    command: ["node", "packages/testkit/scripts/generate-model-schemas.mjs"],
    writes: [
      "packages/testkit/src/model-server/openai-chat-request.gen.json",
      "packages/testkit/src/model-server/anthropic-messages-request.gen.json",
    ],
  },
  {
    name: "client and API documents",
    needs: "scripts/generate-api.mjs",
    command: ["node", "scripts/generate-api.mjs"],
    writes: ["packages/client/src/gen", "docs/generated/openapi.json", "docs/generated/commands.md"],
  },
];

function digests(paths) {
  const found = new Map();
  for (const path of paths) {
    for (const file of filesUnder(path)) {
      found.set(
        file,
        createHash("sha256")
          .update(readFileSync(join(repositoryRoot, file)))
          .digest("hex"),
      );
    }
  }
  return found;
}

function filesUnder(path) {
  const absolute = join(repositoryRoot, path);
  if (!existsSync(absolute)) return [];
  if (statSync(absolute).isFile()) return [path];
  return readdirSync(absolute).flatMap((name) => filesUnder(`${path}/${name}`));
}

function changedFiles(before, after) {
  const paths = new Set([...before.keys(), ...after.keys()]);
  return [...paths].filter((path) => before.get(path) !== after.get(path)).sort();
}

const checking = process.argv.includes("--check");
for (const generator of generators) {
  if (!existsSync(join(repositoryRoot, generator.needs))) continue;
  const before = digests(generator.writes);
  const [program, ...args] = generator.command;
  const ran = spawnSync(program, args, { cwd: repositoryRoot, stdio: ["ignore", "inherit", "inherit"] });
  if (ran.status !== 0) {
    console.error(`generate: ${generator.name} failed`);
    process.exitCode = 1;
    continue;
  }
  const changed = changedFiles(before, digests(generator.writes));
  for (const path of changed) console.log(`generate: ${path} changed`);
  if (checking && changed.length > 0) process.exitCode = 1;
}
