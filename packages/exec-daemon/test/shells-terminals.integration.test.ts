/** Background commands as files: of sessions and of plain executions, while they run, and over a restart. */
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { terminalFileLimits } from "../src/shells/shell-limits.ts";
import { until } from "./daemon-process.ts";
import { type ShellsWorld, startShellsWorld } from "./shells-world.ts";

vi.setConfig({ testTimeout: 90_000, hookTimeout: 90_000 });

let world: ShellsWorld;
beforeEach(async () => {
  world = await startShellsWorld();
});
afterEach(() => world.daemon.dispose());

const header =
  /^---\npid: (\d+)\ncwd: "(.*)"\ncommand: "(.*)"\nstatus: (running|exited|unknown)\nstarted_at: \S+Z\n---\n/u;

const saw = (path: string, pattern: RegExp): Promise<string> =>
  until(`${path} matches ${pattern}`, () => {
    const text = existsSync(path) ? readFileSync(path, "utf8") : "";
    return pattern.test(text) ? text : undefined;
  });

test("a background command of a session is a file with header, output and, at its end, footer", async () => {
  const id = await world.create();
  await world.run(id, "mkdir sub; cd sub; f() { echo from-f; }");
  const command = 'f; echo err >&2; read line; echo "got $line"; exit 4';
  const { terminalFile, execution } = await world.shells.run({
    ...{ sessionId: id, processId: "bg", command, background: true, stdin: true },
  });
  const running = await saw(terminalFile, /from-f[\s\S]*err/u);
  expect(header.exec(running)?.slice(1)).toEqual([
    String(execution?.pid),
    join(world.daemon.workspace, "sub"),
    JSON.stringify(command).slice(1, -1),
    "running",
  ]);
  // The session isn't occupied by it.
  expect((await world.run(id, "pwd")).stdout).toBe(`${world.daemon.workspace}/sub\n`);
  await world.daemon.processes.write({ processId: "bg", offset: 0n, data: Buffer.from("it\n") });
  const ended = await saw(terminalFile, /\n---\nexit_code: 4\nelapsed_ms: \d+\n---\n$/u);
  expect(header.exec(ended)?.[4]).toBe("exited");
  expect(ended).toContain("got it\n");
  const { terminalsDirectory } = await world.shells.list({});
  expect(readdirSync(terminalsDirectory)).toEqual(["bg.txt"]);
  expect(statSync(terminalFile).mode & 0o777).toBe(0o644);
});

test("any background execution has its file, and one in the foreground has none", async () => {
  const { terminalsDirectory } = await world.shells.list({});
  const start = (processId: string, background: boolean) =>
    world.daemon.processes.start({
      processId,
      background,
      command: { case: "shell", value: `echo ${processId}` },
    });
  await start("front", false);
  await start("back", true);
  const text = await saw(join(terminalsDirectory, "back.txt"), /exit_code: 0/u);
  expect(text).toContain('command: "echo back"');
  expect(existsSync(join(terminalsDirectory, "front.txt"))).toBe(false);
});

test("a flood stays within the bound, its file begins and ends right, and no reader ever sees half a header", async () => {
  const id = await world.create();
  const command = "echo first; head -c 6000000 /dev/zero | tr '\\0' x | fold -w 100; echo; echo last";
  const { terminalFile } = await world.shells.run({
    sessionId: id,
    processId: "flood",
    command,
    background: true,
  });
  let looks = 0;
  const text = await until(
    "the flood has ended",
    () => {
      const seen = existsSync(terminalFile) ? readFileSync(terminalFile, "latin1") : undefined;
      if (seen === undefined) return undefined;
      looks += 1;
      expect(seen.slice(0, 300)).toMatch(header);
      return /exit_code: 0\n/u.test(seen) ? seen : undefined;
    },
    60_000,
  );
  expect(looks).toBeGreaterThan(1);
  expect(text.length).toBeLessThan(terminalFileLimits.fileMaxBytes + terminalFileLimits.pieceMaxBytes);
  // Not the whole of it in a failure's message.
  expect({
    says: /\[\.\.\. \d+ bytes left out \.\.\.\]/u.test(text),
    begins: /^first\nx/u.test(text.replace(header, "")),
    ends: /x\nlast\n\n---\n/u.test(text),
  }).toEqual({ says: true, begins: true, ends: true });
});

test("a folder that isn't the daemon's own is left alone, and the command runs all the same", async () => {
  const elsewhere = join(world.daemon.folder, "elsewhere");
  mkdirSync(elsewhere);
  symlinkSync(elsewhere, `${world.daemon.dataRoot}-terminals`);
  const id = await world.create();
  await world.shells.run({ sessionId: id, processId: "bg", command: "exit 5", background: true });
  const { execution } = await world.daemon.processes.wait({ processId: "bg", waitMs: 20_000 });
  expect(execution?.exited?.code).toBe(5);
  await until("it is said", () => world.daemon.log().includes("shells.file-lost") || undefined);
  expect(readdirSync(elsewhere)).toEqual([]);
});

test("files are taken up again by the next daemon: of what runs on, and of what ended without one", async () => {
  const id = await world.create();
  const run = (processId: string) =>
    world.shells.run({
      sessionId: id,
      processId,
      command: "echo begun; read line; echo $line",
      background: true,
      stdin: true,
    });
  const files = [(await run("over")).terminalFile, (await run("ends")).terminalFile] as const;
  for (const file of files) await saw(file, /begun/u);
  await world.daemon.kill();
  expect(readFileSync(files[1], "utf8")).not.toContain("exit_code");
  // As a caller would have left it just before the kill.
  process.kill(Number(header.exec(readFileSync(files[1], "utf8"))?.[1]), "SIGTERM");
  world = await world.again();
  const ended = await saw(files[1], /exit_code: 143\nsignal: SIGTERM/u);
  expect(ended).toContain("begun\n");
  await world.daemon.processes.write({ processId: "over", offset: 0n, data: Buffer.from("later\n") });
  expect(await saw(files[0], /exit_code: 0/u)).toContain("begun\nlater\n");
});
