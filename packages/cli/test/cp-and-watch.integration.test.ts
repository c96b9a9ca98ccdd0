/** `sand cp` and `sand watch` against the real daemon: both ways, trees, odd names, interruptions and outages. */

import { randomBytes } from "node:crypto";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createTestHome, type TestHome, waitFor } from "./run-sand.ts";
import { startTestDaemon } from "./test-daemon.ts";

/** for tests that start `sand` several times */
const slowMs = 120_000;

/** `sand` runs in the workspace, so what lies "here" is beside it. */
function here(home: TestHome, name: string): string {
  return join(home.folder, "here", name);
}

function inBox(home: TestHome, name: string): string {
  return join(home.folder, "workspace", name);
}

function prepare(home: TestHome): void {
  mkdirSync(here(home, "tree/sub"), { recursive: true });
  writeFileSync(here(home, "tree/sub/run"), "#!/bin/sh\n");
  chmodSync(here(home, "tree/sub/run"), 0o755);
  writeFileSync(Buffer.concat([Buffer.from(here(home, "tree/")), Buffer.from([0xff])]), "odd");
  symlinkSync("sub/run", here(home, "tree/link"));
  writeFileSync(here(home, "note.txt"), "note");
}

test(
  "a tree goes into the box and comes back the same: bytes, names, modes and links",
  async () => {
    using home = createTestHome();
    await using _daemon = await startTestDaemon(home);
    prepare(home);
    const sent = await home.run(["cp", "-r", here(home, "tree"), here(home, "note.txt"), "box:in/"]);
    expect(sent).toMatchObject({ code: 0, stdout: "copied 3 files, 17 B\n" });
    expect(statSync(inBox(home, "in/tree/sub/run")).mode & 0o777).toBe(0o755);
    expect(readlinkSync(inBox(home, "in/tree/link"))).toBe("sub/run");
    expect(readFileSync(inBox(home, "in/note.txt"), "utf8")).toBe("note");
    expect((await home.run(["cp", "--json", "-r", "box:in/tree", here(home, "back")])).stdout).toBe(
      '{"files":2,"bytes":13,"resumedBytes":0,"skipped":0}\n',
    );
    const names = readdirSync(here(home, "back"), { encoding: "buffer" });
    expect(names.some((name) => name.equals(Buffer.from([0xff])))).toBe(true);
    expect(statSync(here(home, "back/sub/run")).mode & 0o777).toBe(0o755);
    expect(readlinkSync(here(home, "back/link"))).toBe("sub/run");
    // Into a folder that is there it goes under its own name.
    expect((await home.run(["cp", "box:in/note.txt", here(home, "back")])).code).toBe(0);
    expect(readFileSync(here(home, "back/note.txt"), "utf8")).toBe("note");
  },
  slowMs,
);

test(
  "what can't be copied is said with the exit status of its kind",
  async () => {
    using home = createTestHome();
    await using _daemon = await startTestDaemon(home);
    prepare(home);
    writeFileSync(inBox(home, "in.txt"), "x");
    const codes: (number | null)[] = [];
    for (const words of [
      ["cp", here(home, "note.txt"), "elsewhere"],
      ["cp", here(home, "tree"), "box:"],
      ["cp", "box:not-there", here(home, "x")],
      ["cp", here(home, "not-there"), "box:x"],
      ["cp", "box:in.txt", here(home, "no-folder/x")],
      ["cp", here(home, "note.txt"), "box:/proc/x"],
    ])
      codes.push((await home.run(words)).code);
    expect(codes).toEqual([2, 2, 6, 6, 6, 4]);
    expect(existsSync(here(home, "x"))).toBe(false);
  },
  slowMs,
);

test(
  "a copy that was interrupted goes on where it stopped, either way, also past a restart of the daemon",
  async () => {
    using home = createTestHome();
    const content = randomBytes(24 * 1024 * 1024);
    mkdirSync(here(home, "."), { recursive: true });
    writeFileSync(here(home, "large"), content);
    {
      await using _daemon = await startTestDaemon(home);
      const first = home.start(["cp", here(home, "large"), "box:large"]);
      const hasBegun = () =>
        readdirSync(inBox(home, ".")).some(
          (name) => name.endsWith(".part") && statSync(inBox(home, name)).size > 2 ** 21,
        );
      await waitFor("some of it has arrived", hasBegun);
      first.child.kill("SIGKILL");
      await first.ended;
    }
    expect(existsSync(inBox(home, "large"))).toBe(false);
    await using _daemon = await startTestDaemon(home);
    const again = await home.run(["cp", "--json", here(home, "large"), "box:large"]);
    const totals = JSON.parse(again.stdout);
    expect(totals.resumedBytes).toBeGreaterThan(0);
    expect(totals.bytes + totals.resumedBytes).toBe(content.length);
    expect(readFileSync(inBox(home, "large")).equals(content)).toBe(true);
    expect(readdirSync(inBox(home, "."))).toEqual(["large"]);

    const back = home.start(["cp", "box:large", here(home, "back")]);
    await waitFor("some of it has come", () =>
      readdirSync(here(home, ".")).some(
        (name) => name.endsWith(".sand-part") && statSync(here(home, name)).size > 2 ** 21,
      ),
    );
    back.child.kill("SIGINT");
    const { code, stderr } = await back.ended;
    // Where it was quicker than the signal it is whole.
    if (code !== 0) expect({ code, stderr }).toMatchObject({ code: 130 });
    expect((await home.run(["cp", "box:large", here(home, "back")])).code).toBe(0);
    expect(readFileSync(here(home, "back")).equals(content)).toBe(true);
    expect(readdirSync(here(home, ".")).toSorted()).toEqual(["back", "large"]);
  },
  slowMs,
);

test(
  "nothing is written through a link that the box names",
  async () => {
    using home = createTestHome();
    await using _daemon = await startTestDaemon(home);
    mkdirSync(here(home, "victim"), { recursive: true });
    mkdirSync(inBox(home, "tree/a"), { recursive: true });
    writeFileSync(inBox(home, "tree/a/file"), "new");
    mkdirSync(here(home, "back"));
    // As an earlier copy of another state of the box would have left it.
    symlinkSync(here(home, "victim"), here(home, "back/a"));
    const ran = await home.run(["cp", "-r", "box:tree/", `${here(home, "back")}/..`]);
    expect(ran.code).toBe(0);
    const over = await home.run(["cp", "-r", "box:tree/a", here(home, "back/a/..")]);
    expect(over.code).not.toBe(null);
    const through = await home.run(["cp", "-r", "box:tree", here(home, "merged")]);
    expect(through.code).toBe(0);
    expect(readdirSync(here(home, "victim"))).toEqual([]);
  },
  slowMs,
);

test(
  "changes are told as they come, as lines or JSON, and again after the daemon was away",
  async () => {
    using home = createTestHome();
    const daemon = await startTestDaemon(home);
    const lines = home.start(["watch"]);
    const json = home.start(["watch", "--json", "-n", "2"]);
    await waitFor("both watch", () => lines.stderr().includes("watching"));
    await waitFor("it tells of a file", () => {
      writeFileSync(inBox(home, "file"), String(performance.now()));
      return lines.stdout().includes("write   file") && json.stdout().split("\n").length > 2;
    });
    expect((await json.ended).code).toBe(0);
    expect(Object.keys(JSON.parse(json.stdout().split("\n")[0] ?? ""))).toEqual(["kind", "name"]);
    await daemon.kill();
    await using _again = await startTestDaemon(home);
    await waitFor("it watches again", () => lines.stderr().includes("watching again"));
    writeFileSync(inBox(home, "later"), "");
    await waitFor("it tells of another", () => lines.stdout().includes("create  later"));
    lines.child.kill("SIGINT");
    expect((await lines.ended).code).toBe(0);
  },
  slowMs,
);
