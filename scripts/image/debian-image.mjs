/**
 * Finds a Debian image to build the base on: one that the engine has, else from its registry, else one that is made
 * here by debootstrap and imported. What debootstrap made is kept as an archive, for it takes minutes.
 */
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { ask, run } from "./docker.mjs";

const release = "bookworm";
const published = `debian:${release}-slim`;
/** debootstrap knows Debian's own mirror; a person with a nearer one names it */
const mirror = process.env.SAND_DEBIAN_MIRROR;
const pullMaxMs = 180_000;
const bootstrapMaxMs = 15 * 60_000;
const importMaxMs = 5 * 60_000;

/** @param {{arch: "amd64" | "arm64", debootstrap: boolean, say: (text: string) => void}} options */
export async function findDebianImage({ arch, debootstrap, say }) {
  const made = `sand-debian:${release}-${arch}`;
  if (!debootstrap && hasImage(published, arch)) return published;
  if (hasImage(made, arch)) return made;
  if (!debootstrap) {
    say(`asking the registry for ${published}`);
    try {
      await run("docker", ["pull", "--platform", `linux/${arch}`, published], { maxMs: pullMaxMs });
      return published;
    } catch {
      say("no registry can be reached; making a Debian by debootstrap");
    }
  }
  const archive = await keepArchive(arch, say);
  say(`importing ${made}`);
  const change = ["--platform", `linux/${arch}`, "--change", 'CMD ["bash"]'];
  await run("docker", ["import", ...change, archive, made], { maxMs: importMaxMs });
  return made;
}

function hasImage(name, arch) {
  return ask("docker", ["image", "inspect", "--format", "{{.Architecture}}", name]) === arch;
}

/** The archive's name holds what it was made from; a half-made one has another name. */
async function keepArchive(arch, say) {
  const archive = join(cacheFolder(), `debian-${release}-${arch}.tar`);
  if (existsSync(archive)) return archive;
  if (process.getuid?.() !== 0 || ask("debootstrap", ["--version"]) === undefined) {
    throw new Error(
      "without a registry the base is made by debootstrap, as root: apt-get install debootstrap, then repeat as root",
    );
  }
  const folder = mkdtempSync(join(tmpdir(), "sand-debian-"));
  try {
    say(`debootstrap ${release} for ${arch}; this takes a few minutes, once`);
    const root = join(folder, "root");
    const made = ["--variant=minbase", `--arch=${arch}`, "--include=ca-certificates", release, root];
    if (mirror) made.push(mirror);
    await run("debootstrap", made, { maxMs: bootstrapMaxMs });
    // What a package manager can fetch again is no part of an image.
    for (const path of ["var/cache/apt/archives", "var/lib/apt/lists"])
      rmSync(join(root, path), { recursive: true });
    for (const path of ["var/cache/apt/archives/partial", "var/lib/apt/lists/partial"])
      mkdirSync(join(root, path), { recursive: true });
    const half = `${archive}.${process.pid}`;
    await run("tar", ["-C", root, "--numeric-owner", "-cf", half, "."], { maxMs: importMaxMs });
    renameSync(half, archive);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return archive;
}

function cacheFolder() {
  const root =
    process.env.XDG_CACHE_HOME || (process.getuid?.() === 0 ? "/var/cache" : join(homedir(), ".cache"));
  const folder = join(root, "sand");
  mkdirSync(folder, { recursive: true });
  return folder;
}
