/**
 * Rows 44 and 45: what the kernel gives is used up. The limits are a user namespace's or a process's own, so that
 * nothing else on the machine notices.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ConnectError } from "@connectrpc/connect";
import { afterEach, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon, until } from "./daemon-process.ts";

const patientMs = 90_000;
const canNest = spawnSync("unshare", ["-Ur", "true"]).status === 0;

let daemon: TestDaemon;
afterEach(() => daemon.dispose());

async function failureOf(
  work: Promise<unknown>,
): Promise<{ readonly code: string | null; readonly text: string }> {
  const failure = ConnectError.from(
    await work.then(
      () => "no failure",
      (error: unknown) => error,
    ),
  );
  return { code: failure.metadata.get("x-sand-code"), text: failure.rawMessage };
}

/** Watches until the first event, or until `isOver` says so of the events so far. */
async function watch(
  path: string,
  isOver: (kinds: readonly string[]) => boolean = () => true,
): Promise<void> {
  const kinds: string[] = [];
  const ending = new AbortController();
  for await (const { event } of daemon.files.watch({ path, recursive: true }, { signal: ending.signal })) {
    kinds.push(event.case ?? "");
    if (isOver(kinds)) break;
  }
  ending.abort();
}

test.skipIf(!canNest)(
  "row 44: a kernel without another watch is a typed error that names the setting, and the daemon lives on",
  { timeout: patientMs },
  async () => {
    const few = [
      "unshare",
      "-Ur",
      "sh",
      "-c",
      'echo 30 > /proc/sys/user/max_inotify_watches && exec "$0" "$1"',
    ];
    daemon = await startTestDaemon({}, few);
    for (let index = 0; index < 60; index += 1)
      mkdirSync(join(daemon.workspace, `large/${index}`), { recursive: true });
    mkdirSync(join(daemon.workspace, "small"));
    expect(await failureOf(watch("large"))).toEqual({
      code: "file/watch-limit",
      text: expect.stringMatching(/ENOSPC.*fs\.inotify\.max_user_watches/u),
    });
    // What the refused one had taken is given back.
    await watch("small");
    // The limit is met in the middle of a watch: it is told and goes on.
    await watch("small", (kinds) => {
      if (kinds.length === 1)
        for (let index = 0; index < 60; index += 1) mkdirSync(join(daemon.workspace, `small/${index}`));
      return kinds.includes("overflow");
    });
    expect(daemon.child.exitCode).toBe(null);
    expect(await daemon.control.ping({ nonce: "n" })).toMatchObject({ pid: daemon.child.pid });
  },
);

test("row 45: the limit of descriptors is raised to what may be had", { timeout: patientMs }, async () => {
  daemon = await startTestDaemon({}, ["prlimit", "--nofile=512:4096"]);
  const limits = readFileSync(`/proc/${daemon.child.pid}/limits`, "utf8");
  expect(/Max open files\s+(\d+)\s+(\d+)/u.exec(limits)?.slice(1)).toEqual(["4096", "4096"]);
});

test("row 45: a process without another descriptor says so, and works again when there is one", {
  timeout: patientMs,
}, async () => {
  daemon = await startTestDaemon();
  writeFileSync(join(daemon.workspace, "file"), "content");
  await daemon.files.read({ path: "file" });
  const pid = await until("the file process", () => findFileProcess());
  const taken = new Set(readdirSync(`/proc/${pid}/fd`).map(Number));
  const firstFree = Array.from({ length: taken.size + 1 }, (_, fd) => fd).find((fd) => !taken.has(fd));
  execFileSync("prlimit", ["--pid", pid, `--nofile=${firstFree}:`]);
  expect(await failureOf(daemon.files.read({ path: "file" }))).toEqual({
    code: "file/io",
    text: expect.stringContaining("EMFILE"),
  });
  execFileSync("prlimit", ["--pid", pid, "--nofile=4096:"]);
  expect(Buffer.from((await daemon.files.read({ path: "file" })).data).toString()).toBe("content");
});

function findFileProcess(): string | undefined {
  return readdirSync("/proc").find((pid) => {
    try {
      const isRole = readFileSync(`/proc/${pid}/cmdline`, "latin1").endsWith("main.ts\0files\0");
      return isRole && readFileSync(`/proc/${pid}/status`, "latin1").includes(`PPid:\t${daemon.child.pid}\n`);
    } catch {
      // No process, or one that has just ended.
      return false;
    }
  });
}
