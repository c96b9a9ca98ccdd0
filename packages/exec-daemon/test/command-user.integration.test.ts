/** Commands and file operations as another account, which only root can be asked to do. */
import { chmodSync, chownSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Code } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { gather, shell, startTestDaemon, type TestDaemon, until } from "./daemon-process.ts";

const nobody = 65_534;
const isRoot = process.getuid?.() === 0;

describe.skipIf(!isRoot)("an account for commands (needs root)", () => {
  let daemon: TestDaemon;
  beforeAll(async () => {
    daemon = await startTestDaemon({ SAND_BOX_COMMAND_UID: String(nobody) });
    chmodSync(daemon.folder, 0o711);
    chownSync(daemon.workspace, nobody, nobody);
  });
  afterAll(() => daemon.dispose());

  async function outputOf(id: string, text: string): Promise<string> {
    await daemon.processes.start(shell(id, text));
    const { stdout, stderr } = await gather(daemon, id);
    return `${stdout.toString()}${stderr.toString()}`;
  }

  test("a command has that account, no group beside its own, and no privilege to gain", async () => {
    const said = await outputOf("who", "id -u; id -G; grep -E 'CapPrm|CapAmb|NoNewPrivs' /proc/self/status");
    expect(said).toMatch(/^65534\n65534\nCapPrm:\t0+\nCapAmb:\t0+\nNoNewPrivs:\t1\n$/u);
  });

  test("a command gets the request's environment and folder, and may open its output again", async () => {
    mkdirSync(join(daemon.workspace, "sub"));
    const start = { ...shell("env", 'printf "%s %s" "$PWD" "$COLOUR" > /dev/stdout'), cwd: "sub" };
    await daemon.processes.start({ ...start, env: { COLOUR: "red=1" } });
    const { stdout } = await gather(daemon, "env");
    expect(stdout.toString()).toBe(`${join(daemon.workspace, "sub")} red=1`);
  });

  test("a command can't list the data root, nor read the daemon's environment", async () => {
    const said = await outputOf("look", `ls ${daemon.dataRoot}; cat /proc/${daemon.child.pid}/environ`);
    expect(said.match(/Permission denied/gu)).toHaveLength(2);
  });

  test("a command that left its group and its folder is found by its marker and killed", async () => {
    const id = "astray";
    await daemon.processes.start(shell(id, "(setsid sleep 300 & echo $!) ; sleep 300"));
    const pid = await until("the pid is told", async () => {
      const { events } = await daemon.processes.read({ processId: id });
      const text = events.flatMap(({ kind }) =>
        kind.case === "output" ? [Buffer.from(kind.value.data).toString()] : [],
      );
      return /^(\d+)\n/u.exec(text.join(""))?.[1];
    });
    await daemon.processes.signal({ processId: id, name: "KILL", scope: 3 });
    await until("the stray process is gone", () => {
      try {
        process.kill(Number(pid), 0);
        return undefined;
      } catch {
        return true;
      }
    });
  });

  test("a written file belongs to that account, and so do the folders on the way", async () => {
    const written = await daemon.files.write({
      path: "new/deep/file.txt",
      data: Buffer.from("hello"),
      operationId: "op-1",
    });
    expect(written).toMatchObject({ created: true, existing: false });
    for (const path of ["new", "new/deep", "new/deep/file.txt"])
      expect(statSync(join(daemon.workspace, path))).toMatchObject({ uid: nobody, gid: nobody });
    const repeated = { path: "new/deep/file.txt", data: Buffer.from("hello"), operationId: "op-1" };
    expect(await daemon.files.write(repeated)).toMatchObject({ existing: true });
  });

  test("what the account may not touch is refused to the file operations too", async () => {
    const secret = join(daemon.workspace, "secret.txt");
    writeFileSync(secret, "planted", { mode: 0o600 });
    const denied = expect.objectContaining({ code: Code.PermissionDenied });
    await expect(daemon.files.read({ path: secret })).rejects.toEqual(denied);
    await expect(daemon.files.read({ path: "/etc/shadow" })).rejects.toEqual(denied);
    const write = { path: "/etc/planted-by-sand", data: Buffer.from("x"), operationId: "op-2" };
    await expect(daemon.files.write(write)).rejects.toEqual(denied);
    const found = await daemon.files.grep({ pattern: "planted", path: "." });
    expect(found.lines).toEqual([]);
  });

  test("a command can neither signal nor trace the process that does file operations", async () => {
    await daemon.files.list({ path: "." });
    const pid = readdirSync("/proc").find((name) => isFileProcess(name, daemon.child.pid));
    expect(pid).toBeDefined();
    const said = await outputOf("reach", `kill -9 ${pid}; cat /proc/${pid}/environ; ls /proc/${pid}/fd`);
    expect(said.match(/denied|not permitted/gu)).toHaveLength(3);
  });

  test("files are listed and searched as before", async () => {
    writeFileSync(join(daemon.workspace, "seen.txt"), "needle\n", { mode: 0o644 });
    const found = await daemon.files.grep({ pattern: "needle", path: "." });
    expect(found.lines.map((line) => line.path)).toEqual([join(daemon.workspace, "seen.txt")]);
    const list = await daemon.files.list({ path: "." });
    expect(list.entries.map((entry) => entry.path)).toContain(join(daemon.workspace, "seen.txt"));
    const glob = await daemon.files.glob({ pattern: "seen.*", path: "." });
    expect(glob.paths).toEqual([join(daemon.workspace, "seen.txt")]);
  });
});

function isFileProcess(pid: string, daemonPid: number | undefined): boolean {
  try {
    const isRole = readFileSync(`/proc/${pid}/cmdline`, "latin1").endsWith("main.ts\0files\0");
    return isRole && readFileSync(`/proc/${pid}/status`, "latin1").includes(`PPid:\t${daemonPid}\n`);
  } catch {
    // No process, or one that has just ended.
    return false;
  }
}
