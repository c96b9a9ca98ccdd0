/**
 * Builds the box's image, as `sand image build` does: the open base where no other is named, then the box over it.
 *
 * Progress goes to standard error; standard output gets one line of JSON at the end. A base that was built from the
 * same files is used again.
 */
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { outputs, repositoryRoot } from "./bundle/outputs.mjs";
import { findDebianImage } from "./image/debian-image.mjs";
import { ask, run } from "./image/docker.mjs";
import { pinnedNode, removeFolder, stageBase, stageBox } from "./image/stage-context.mjs";

const buildMaxMs = 15 * 60_000;
const say = (text) => process.stderr.write(`image: ${text}\n`);

const { values } = parseArgs({
  options: {
    tag: { type: "string", default: "sand-box:local" },
    /** an image to build on instead of the open base */
    base: { type: "string" },
    /** don't ask a registry */
    debootstrap: { type: "boolean", default: false },
    /** build the bundles even if they are there */
    fresh: { type: "boolean", default: false },
  },
});

async function main() {
  const arch = ask("docker", ["version", "--format", "{{.Server.Arch}}"]);
  if (arch === undefined) throw new Error("no Docker engine answers; see `docker version`");
  await ensureBundles();
  const base = values.base ?? (await ensureBase(arch));
  const folder = mkdtempSync(join(tmpdir(), "sand-image-"));
  try {
    say(`building ${values.tag} over ${base}`);
    stageBox(folder);
    await build(folder, values.tag, { BASE_IMAGE: base, PLATFORM: `linux/${arch}` });
  } finally {
    removeFolder(folder);
  }
  const id = ask("docker", ["image", "inspect", "--format", "{{.Id}}", values.tag]);
  process.stdout.write(`${JSON.stringify({ image: values.tag, id, base })}\n`);
}

async function ensureBundles() {
  const files = [outputs.host.outfile, outputs.daemon.outfile].map((file) => join(repositoryRoot, file));
  if (!values.fresh && files.every((file) => existsSync(file))) return;
  say("building the bundles");
  const script = join(repositoryRoot, "scripts/build.mjs");
  await run(process.execPath, [script], { maxMs: buildMaxMs, cwd: repositoryRoot });
}

async function ensureBase(arch) {
  const tag = `sand-base:${baseKey(arch)}`;
  if (ask("docker", ["image", "inspect", "--format", "{{.Id}}", tag]) !== undefined) {
    say(`the base is there: ${tag}`);
    return tag;
  }
  const debian = await findDebianImage({ arch, debootstrap: values.debootstrap, say });
  const folder = mkdtempSync(join(tmpdir(), "sand-base-"));
  try {
    say(`building ${tag} over ${debian}`);
    stageBase(folder, arch);
    await build(folder, tag, { DEBIAN_IMAGE: debian, TARGETARCH: arch });
  } finally {
    removeFolder(folder);
  }
  return tag;
}

/** What a base is made from: the same key is the same base but for Debian's own updates. */
function baseKey(arch) {
  const hash = createHash("sha256").update(arch);
  hash.update(readFileSync(join(repositoryRoot, "docker/base/Dockerfile")));
  hash.update(ask(pinnedNode(), ["--version"]) ?? "");
  return hash.digest("hex").slice(0, 12);
}

async function build(folder, tag, buildArgs) {
  const args = Object.entries(buildArgs).flatMap(([name, value]) => ["--build-arg", `${name}=${value}`]);
  await run("docker", ["build", "--tag", tag, ...args, folder], { maxMs: buildMaxMs });
}

main().catch((error) => {
  say(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
});
