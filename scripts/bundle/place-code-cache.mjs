/**
 * Puts a code cache beside a bundle, by starting it as it ships, in a folder of its own, until it has left one there.
 *
 * A bundle without a cache beside it makes one in its data root with its first start, so nothing depends on this. That
 * is also why a build goes on when the program can't be started here.
 */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, copyFile, mkdir, mkdtemp, readdir, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { repositoryRoot } from "./outputs.mjs";

const startMaxMs = 60_000;
const lookEveryMs = 50;

/** @param {string} bundleFile relative to the repository, as in the table of outputs */
export async function placeCodeCache(bundleFile) {
  const bundle = join(repositoryRoot, bundleFile);
  if (!existsSync(bundle)) return;
  const target = `${bundle}.code-cache`;
  // One of an earlier build would not be taken, but it would look as if there were one.
  await rm(target, { force: true });
  const folder = await mkdtemp(join(tmpdir(), "sand-cache-"));
  try {
    const made = await runUntilCached(bundle, folder);
    if (made === undefined)
      return console.log(`no code cache for ${bundleFile}: the first start will make one`);
    await copyFile(made, `${target}.${process.pid}.tmp`);
    // As readable as the bundle is.
    await chmod(`${target}.${process.pid}.tmp`, 0o644);
    await rename(`${target}.${process.pid}.tmp`, target);
    console.log(`built ${bundleFile}.code-cache`);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function runUntilCached(bundle, folder) {
  const dataRoot = join(folder, "data");
  await mkdir(join(folder, "workspace"));
  await mkdir(dataRoot, { mode: 0o700 });
  const child = spawn(process.execPath, [bundle], {
    cwd: folder,
    env: environment(folder, dataRoot),
    stdio: "ignore",
  });
  let isOver = false;
  const ended = new Promise((resolve) => child.once("close", resolve).once("error", resolve)).then(() => {
    isOver = true;
  });
  const force = setTimeout(() => child.kill("SIGKILL"), startMaxMs);
  const find = async () => {
    const names = await readdir(join(dataRoot, "code-cache")).catch(() => []);
    return names.find((name) => !name.startsWith("."));
  };
  let found = await find();
  for (; !isOver && found === undefined; found = await find()) await delay(lookEveryMs);
  child.kill("SIGTERM");
  await ended;
  clearTimeout(force);
  return found === undefined ? undefined : join(dataRoot, "code-cache", found);
}

/** Nothing of the builder's own settings, and no port that somebody else may have. */
function environment(folder, dataRoot) {
  return {
    PATH: "/usr/local/bin:/usr/bin:/bin",
    HOME: folder,
    SAND_DATA_ROOT: dataRoot,
    SAND_BOX_WORKSPACE_ROOT: join(folder, "workspace"),
    SAND_SANDBOX: "off",
    SAND_USE_EXISTING_BOX_EXEC_DAEMON: "1",
    SAND_BOX_EXEC_DAEMON_PORT: "0",
    SAND_BOX_PTY_PORT: "0",
    SAND_HOST_PORT: "0",
    SAND_INFERENCE_PROVIDER: "offline",
  };
}
