/** Builds the shim with the machine's C compiler, into a folder of the test's own. */
import { execFile } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

const compiler = "/usr/bin/cc";
const compileMaxMs = 60_000;

/** why there is no shim on this machine; `undefined` where there is one */
export function whyNoDiskShim(): string | undefined {
  if (process.platform !== "linux") return "the shim is made for Linux";
  try {
    accessSync(compiler, constants.X_OK);
    return undefined;
  } catch {
    return `there is no ${compiler}`;
  }
}

/** Returns the path of the library, which lies in `folder`. */
export async function compileDiskShim(folder: string): Promise<string> {
  const library = join(folder, "disk-shim.so");
  const source = join(import.meta.dirname, "disk-shim.c");
  const args = ["-O1", "-Wall", "-shared", "-fPIC", "-o", library, source, "-ldl"];
  await promisify(execFile)(compiler, args, { timeout: compileMaxMs });
  return library;
}
