/** Watch over the real kernel: what is told, what is left out, and what happens at the limits (row 44). */
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { ConnectError } from "@connectrpc/connect";
import { ChangeType, type FilesWatchResponse } from "@sand/protocol/exec";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon, until } from "./daemon-process.ts";

let daemon: TestDaemon;
beforeAll(async () => {
  daemon = await startTestDaemon();
});
afterAll(() => daemon.dispose());

const inWorkspace = (name: string): string => join(daemon.workspace, name);
const text = (value: string): Uint8Array => new TextEncoder().encode(value);

interface Watching {
  readonly seen: FilesWatchResponse[];
  /** as `CREATE a`, `RENAME a>b` */
  words(): readonly string[];
  /** Waits until everything of this is told. */
  sees(...words: readonly string[]): Promise<void>;
  readonly ended: Promise<unknown>;
  stop(): Promise<void>;
}

async function watching(request: Parameters<TestDaemon["files"]["watch"]>[0]): Promise<Watching> {
  const ending = new AbortController();
  const seen: FilesWatchResponse[] = [];
  const ended = (async () => {
    try {
      for await (const message of daemon.files.watch(request, { signal: ending.signal })) seen.push(message);
      return "end";
    } catch (error) {
      return ConnectError.from(error).metadata.get("x-sand-code") ?? ConnectError.from(error).rawMessage;
    }
  })();
  const words = (): readonly string[] => seen.flatMap(({ event }) => wordOf(event) ?? []);
  const outcome = await Promise.race([
    ended,
    until("it has started", () => (seen.length > 0 ? "started" : undefined)),
  ]);
  expect(outcome).toBe("started");
  return {
    seen,
    words,
    ended,
    sees: async (...wanted) => {
      await until(`${wanted} in ${words()}`, () =>
        wanted.every((word) => words().includes(word)) ? true : undefined,
      );
    },
    async stop() {
      ending.abort();
      await ended;
    },
  };
}

function wordOf(event: FilesWatchResponse["event"]): string | undefined {
  if (event.case === "overflow") return "OVERFLOW";
  if (event.case !== "change") return undefined;
  const { type, name, oldName } = event.value;
  return `${ChangeType[type]} ${oldName === "" ? name : `${oldName}>${name}`}`;
}

async function codeOfWatch(request: Parameters<TestDaemon["files"]["watch"]>[0]): Promise<string | null> {
  try {
    for await (const { event } of daemon.files.watch(request)) return event.case ?? null;
    return "end";
  } catch (error) {
    return ConnectError.from(error).metadata.get("x-sand-code");
  }
}

test("each kind of change is told, with the name below the watched folder", async () => {
  mkdirSync(inWorkspace("kinds/sub"), { recursive: true });
  writeFileSync(inWorkspace("kinds/old"), "old");
  const watch = await watching({ path: "kinds", recursive: true, includeInfo: true });
  expect(watch.seen[0]?.event).toMatchObject({ case: "started", value: { folders: 2, entries: 2 } });
  writeFileSync(inWorkspace("kinds/sub/new"), "new");
  await watch.sees("CREATE sub/new", "WRITE sub/new");
  writeFileSync(inWorkspace("kinds/old"), "changed");
  await watch.sees("WRITE old");
  chmodSync(inWorkspace("kinds/old"), 0o600);
  await watch.sees("CHMOD old");
  renameSync(inWorkspace("kinds/old"), inWorkspace("kinds/sub/moved"));
  await watch.sees("RENAME old>sub/moved");
  rmSync(inWorkspace("kinds/sub/moved"));
  await watch.sees("REMOVE sub/moved");
  const written = watch.seen.find(({ event }) => event.case === "change" && event.value.name === "sub/new");
  expect(written?.event).toMatchObject({ value: { file: { path: inWorkspace("kinds/sub/new") } } });
  await watch.stop();
});

test("a folder that is made with all that is in it is told whole, and goes on being watched after a rename", async () => {
  mkdirSync(inWorkspace("grow"));
  const watch = await watching({ path: "grow", recursive: true });
  mkdirSync(inWorkspace("grow/a/b"), { recursive: true });
  writeFileSync(inWorkspace("grow/a/b/leaf"), "1");
  await watch.sees("CREATE a", "CREATE a/b", "CREATE a/b/leaf", "WRITE a/b/leaf");
  renameSync(inWorkspace("grow/a"), inWorkspace("grow/z"));
  writeFileSync(inWorkspace("grow/z/b/leaf"), "22");
  await watch.sees("RENAME a>z", "WRITE z/b/leaf");
  rmSync(inWorkspace("grow/z"), { recursive: true });
  await watch.sees("REMOVE z/b/leaf", "REMOVE z/b", "REMOVE z");
  await watch.stop();
});

test("a file that our own write replaces is told as written, and no copy on its way is told at all", async () => {
  mkdirSync(inWorkspace("own"));
  writeFileSync(inWorkspace("own/file"), "1");
  const watch = await watching({ path: "own" });
  await daemon.files.write({ path: "own/file", data: text("2"), operationId: "watch-1" });
  await daemon.files.uploadPiece({ path: "own/up", uploadId: "u", data: text("3") });
  writeFileSync(inWorkspace("own/.file.0123456789ab.tmp"), "as one of our own copies is named");
  writeFileSync(inWorkspace("own/mark"), "");
  await watch.sees("CREATE mark");
  await daemon.files.uploadCommit({ path: "own/up", uploadId: "u", sizeBytes: 1n });
  await watch.sees("WRITE file", "CREATE up", "WRITE up");
  expect(watch.words().filter((word) => word.includes("."))).toEqual([]);
  await watch.stop();
});

test("without recursion only the folder's own entries are told, ignored names never, and odd names as bytes", async () => {
  mkdirSync(inWorkspace("flat/sub"), { recursive: true });
  const watch = await watching({ path: "flat", recursive: false });
  writeFileSync(inWorkspace("flat/sub/unseen"), "");
  mkdirSync(inWorkspace("flat/node_modules"));
  const odd = Buffer.concat([Buffer.from(`${inWorkspace("flat")}/`), Buffer.from([0xff])]);
  writeFileSync(odd, "");
  writeFileSync(inWorkspace("flat/last"), "");
  await watch.sees("CREATE last");
  const names = watch.seen.flatMap(({ event }) =>
    event.case === "change"
      ? [Buffer.from(event.value.nameBytes).toString("latin1") || event.value.name]
      : [],
  );
  expect(names.toSorted()).toEqual(["last", "\u00ff"]);
  await watch.stop();
});

test("a link is told and never followed", async () => {
  mkdirSync(inWorkspace("links"));
  const watch = await watching({ path: "links", recursive: true });
  symlinkSync("/etc", inWorkspace("links/out"));
  symlinkSync(".", inWorkspace("links/loop"));
  await watch.sees("CREATE out", "CREATE loop");
  expect(watch.words()).toHaveLength(2);
  await watch.stop();
});

test("the watch ends when its folder is removed, and what can't be watched is typed", async () => {
  mkdirSync(inWorkspace("short"));
  const watch = await watching({ path: "short" });
  rmSync(inWorkspace("short"), { recursive: true });
  expect(await watch.ended).toBe("end");
  expect(watch.words().at(-1)).toBe("REMOVE ");
  writeFileSync(inWorkspace("a-file"), "");
  expect(await codeOfWatch({ path: "a-file" })).toBe("file/not-a-directory");
  expect(await codeOfWatch({ path: "not-there" })).toBe("file/not-found");
  expect(await codeOfWatch({ path: "/proc" })).toBe("file/denied");
  expect(await codeOfWatch({ path: ".", ignore: ["a/b"] })).toBe("exec/invalid");
});

test("row 44: more folders than the budget is a typed error before it starts and an overflow afterwards", async () => {
  for (let index = 0; index < 20; index += 1) mkdirSync(inWorkspace(`budget/${index}`), { recursive: true });
  expect(await codeOfWatch({ path: "budget", recursive: true, foldersMax: 10 })).toBe("file/watch-limit");
  const ignore = Array.from({ length: 15 }, (_, index) => String(index));
  expect(await codeOfWatch({ path: "budget", recursive: true, foldersMax: 10, ignore })).toBe("started");
  const watch = await watching({ path: "budget", recursive: true, foldersMax: 21 });
  mkdirSync(inWorkspace("budget/one-too-many"));
  await watch.sees("CREATE one-too-many", "OVERFLOW");
  writeFileSync(inWorkspace("budget/0/still"), "");
  await watch.sees("CREATE 0/still");
  await watch.stop();
});

test("row 44: a flood that the kernel can't hold is said, and what is there afterwards is known", async () => {
  mkdirSync(inWorkspace("flood"));
  const watch = await watching({ path: "flood", recursive: true });
  const filePid = readdirSync("/proc").find((pid) => isFileProcess(pid, daemon.child.pid));
  expect(filePid).toBeDefined();
  // It can't read while it is stopped, so the kernel's queue runs over.
  process.kill(Number(filePid), "SIGSTOP");
  try {
    const queueMax = Number(readFileSync("/proc/sys/fs/inotify/max_queued_events", "utf8"));
    for (let index = 0; index < queueMax; index += 1)
      writeFileSync(inWorkspace(`flood/${index % 2000}`), String(index));
    writeFileSync(inWorkspace("flood/last"), "");
  } finally {
    process.kill(Number(filePid), "SIGCONT");
  }
  await watch.sees("OVERFLOW", "CREATE last");
  await watch.stop();
}, 120_000);

test("a silent watch says now and then that it is alive", async () => {
  mkdirSync(inWorkspace("silent"));
  const watch = await watching({ path: "silent" });
  await until("it says so", () => watch.seen.find(({ event }) => event.case === "keepalive"));
  await watch.stop();
});

test("as many streams as there may be leave room for requests, and one more is refused", async () => {
  mkdirSync(inWorkspace("crowd"));
  const ending = new AbortController();
  let started = 0;
  const watches = Array.from({ length: 64 }, async () => {
    for await (const { event } of daemon.files.watch({ path: "crowd" }, { signal: ending.signal }))
      if (event.case === "started") started += 1;
  });
  await until("all watch", () => (started === 64 ? true : undefined));
  expect(await codeOfWatch({ path: "crowd" })).toBe("exec/too-many");
  expect((await daemon.files.list({ path: "crowd" })).entries).toEqual([]);
  ending.abort();
  await Promise.allSettled(watches);
  await until("there is room again", async () =>
    (await codeOfWatch({ path: "crowd" })) === "started" ? true : undefined,
  );
});

test("a watch that nobody reads any more leaves no notifier behind", async () => {
  const areGone = () => (notifiersOf(daemon.child.pid) === 0 ? true : undefined);
  await until("those of the tests before are gone", areGone);
  for (let round = 0; round < 5; round += 1) {
    const watch = await watching({ path: "budget", recursive: true });
    expect(notifiersOf(daemon.child.pid)).toBeGreaterThan(0);
    await watch.stop();
  }
  await until("all are gone", areGone);
});

function notifiersOf(daemonPid: number | undefined): number {
  const pid = readdirSync("/proc").find((name) => isFileProcess(name, daemonPid));
  const folder = `/proc/${pid}/fdinfo`;
  return readdirSync(folder)
    .map((fd) => readFileSync(`${folder}/${fd}`, "utf8").match(/^inotify wd/gmu)?.length ?? 0)
    .reduce((sum, count) => sum + count, 0);
}

function isFileProcess(pid: string, daemonPid: number | undefined): boolean {
  try {
    const isRole = readFileSync(`/proc/${pid}/cmdline`, "latin1").endsWith("main.ts\0files\0");
    return isRole && readFileSync(`/proc/${pid}/status`, "latin1").includes(`PPid:\t${daemonPid}\n`);
  } catch {
    // No process, or one that has just ended.
    return false;
  }
}
