/** Runs the build script: its progress is passed on line by line, its last word says what was built. */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { CommandFailure } from "../command-failure.ts";

export interface BuiltImage {
  readonly image: string;
  readonly id: string;
  readonly base: string;
}

export interface ImageBuild {
  readonly script: string;
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  onProgress(line: string): void;
}

const answerMaxChars = 65_536;

/** Beside the bundle's folder, or three folders above the sources. */
export function findImageScript(programPath: string): string {
  const folder = dirname(programPath);
  const places = [join(folder, ".."), join(folder, "../../..")];
  const found = places
    .map((place) => join(place, "scripts/build-image.mjs"))
    .find((path) => existsSync(path));
  if (found === undefined) {
    throw new CommandFailure("failed", "the image is built from Sand's source tree, and this isn't one", {
      hint: "clone the repository and run `sand image build` there",
    });
  }
  return found;
}

export async function runImageBuild(build: ImageBuild): Promise<BuiltImage> {
  const child = spawn(process.execPath, [build.script, ...build.args], {
    env: { ...build.environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const progress = createInterface({ input: child.stderr });
  let last = "";
  progress.on("line", (line) => {
    last = line;
    build.onProgress(line);
  });
  let answer = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    answer = (answer + text).slice(-answerMaxChars);
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  if (code !== 0)
    throw new CommandFailure("failed", last.replace(/^image: /u, "") || "the image wasn't built");
  return parseBuilt(answer.trim().split("\n").at(-1) ?? "");
}

/** Throws when the script's last line isn't what it promises. */
export function parseBuilt(line: string): BuiltImage {
  const value: unknown = JSON.parse(line);
  if (typeof value === "object" && value !== null && "image" in value && "id" in value && "base" in value) {
    const { image, id, base } = value;
    if (typeof image === "string" && typeof id === "string" && typeof base === "string")
      return { image, id, base };
  }
  throw new CommandFailure("failed", "the build script didn't say what it built");
}
