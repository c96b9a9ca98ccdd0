/**
 * Extended attributes of files, by a small program that runs as the account that commands have: it can therefore mark
 * nothing that a command couldn't. It is started when it is needed, ends when it wasn't for a while, and where there is
 * none, or a file system keeps none, there are simply no attributes.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { createInterface } from "node:readline";
import type { AttributePort } from "@sand/e2b-surface";
import { type CommandUser, runAsUser } from "../command-user.ts";
import { attributeProgram } from "./attribute-program.ts";

export interface FileAttributes extends AttributePort {
  close(): void;
}

const perl = "/usr/bin/perl";
/** without a question for this long the program is let go */
const idleMaxMs = 30_000;
/** a question that isn't answered by then has no answer */
const answerMaxMs = 5_000;
/** paths of one question to a folder; the rest is asked when these are answered */
const batchMax = 500;

/** Undefined where there is no such program. */
export function createFileAttributes(user: CommandUser | undefined): FileAttributes | undefined {
  if (!existsSync(perl) || (process.arch !== "x64" && process.arch !== "arm64")) return undefined;
  const waiting: ((answer: string | undefined) => void)[] = [];
  let child: ChildProcess | undefined;
  let idle: NodeJS.Timeout | undefined;

  function letGo(gone: ChildProcess | undefined): void {
    if (gone !== child) return;
    child = undefined;
    for (const answer of waiting.splice(0)) answer(undefined);
    gone?.stdin?.end();
  }

  function start(): ChildProcess {
    const plan = { argv: [perl, "-e", attributeProgram, process.arch], env: { LANG: "C" }, cwd: "/" };
    const run = user === undefined ? plan : runAsUser(user, plan);
    const [program = perl, ...args] = run.argv;
    const started = spawn(program, args, { cwd: run.cwd, env: run.env, stdio: ["pipe", "pipe", "ignore"] });
    started.on("error", () => letGo(started));
    started.on("exit", () => letGo(started));
    started.stdin?.on("error", () => undefined);
    createInterface({ input: started.stdout }).on("line", (line) => waiting.shift()?.(line));
    return started;
  }

  async function ask(line: string): Promise<string | undefined> {
    child ??= start();
    clearTimeout(idle);
    const asked = child;
    const { promise, resolve } = Promise.withResolvers<string | undefined>();
    waiting.push(resolve);
    asked.stdin?.write(`${line}\n`);
    const late = setTimeout(() => {
      asked.kill("SIGKILL");
      letGo(asked);
    }, answerMaxMs);
    const answer = await promise;
    clearTimeout(late);
    if (waiting.length === 0) idle = setTimeout(() => letGo(child), idleMaxMs).unref();
    return answer;
  }

  return {
    async read(paths) {
      const found: Readonly<Record<string, string>>[] = [];
      for (let at = 0; at < paths.length; at += batchMax) {
        const batch = paths.slice(at, at + batchMax);
        found.push(...(await Promise.all(batch.map(async (path) => parse(await ask(`r ${hex(path)}`))))));
      }
      return found;
    },
    async replace(path, attributes) {
      const pairs = Object.entries(attributes).map(([name, value]) => `${hex(name)}=${hex(value)}`);
      return (await ask(["w", hex(path), ...pairs].join(" "))) === "ok";
    },
    close() {
      clearTimeout(idle);
      letGo(child);
    },
  };
}

function parse(line: string | undefined): Readonly<Record<string, string>> {
  const pairs = (line ?? "").split(" ").filter((pair) => pair.includes("="));
  return Object.fromEntries(pairs.map((pair) => pair.split("=").map(unhex)));
}

function hex(text: string): string {
  return Buffer.from(text, "utf8").toString("hex");
}

function unhex(text: string): string {
  return Buffer.from(text, "hex").toString("utf8");
}
