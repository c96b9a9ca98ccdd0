/** Files and folders through the unmodified SDK. */
import { randomBytes } from "node:crypto";
import { existsSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { FileNotFoundError, InvalidArgumentError, SandboxError } from "e2b";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { type E2bBox, slowMs, startE2bBox, until } from "./e2b-box.ts";

vi.setConfig({ testTimeout: slowMs, hookTimeout: slowMs });

let box: E2bBox;
beforeAll(async () => {
  box = await startE2bBox();
});
afterAll(() => box.dispose());

const files = () => box.sandbox.files;
const here = (path: string): string => join(box.home, path);

describe("reading and writing", () => {
  test("a text is read as it was written", async () => {
    const info = await files().write("a.txt", "päivää 你好 🦀\n");
    expect(info).toEqual({ name: "a.txt", path: here("a.txt"), type: "file", metadata: undefined });
    expect(await files().read("a.txt")).toBe("päivää 你好 🦀\n");
    expect(readFileSync(here("a.txt"), "utf8")).toBe("päivää 你好 🦀\n");
  });

  test("an empty file is an empty text in every form", async () => {
    await files().write("empty", "");
    expect(await files().read("empty")).toBe("");
    expect(await files().read("empty", { format: "bytes" })).toEqual(new Uint8Array(0));
    expect((await files().read("empty", { format: "blob" })).size).toBe(0);
  });

  test("bytes are read as they were written", async () => {
    const bytes = new Uint8Array(randomBytes(70_000));
    await files().write("bytes", bytes.buffer);
    expect(Buffer.compare(await files().read("bytes", { format: "bytes" }), bytes)).toBe(0);
  });

  test("a blob is read as it was written", async () => {
    await files().write("blob", new Blob(["one", "two"]));
    expect(await (await files().read("blob", { format: "blob" })).text()).toBe("onetwo");
  });

  test("a stream is written and read as one", async () => {
    const bytes = randomBytes(3_000_000);
    await files().write("stream", new Blob([bytes]).stream());
    const read = await files().read("stream", { format: "stream" });
    const pieces: Uint8Array[] = [];
    for await (const piece of read) pieces.push(piece);
    expect(Buffer.compare(Buffer.concat(pieces), bytes)).toBe(0);
  });

  test("a file of several pieces comes whole in every way of sending", async () => {
    const text = randomBytes(2_500_000).toString("hex");
    for (const options of [{}, { useOctetStream: true }, { gzip: true }]) {
      await files().write("large", text, options);
      expect((await files().read("large")) === text).toBe(true);
    }
    expect((await files().read("large", { gzip: true })) === text).toBe(true);
  });

  test("a file of exactly one piece and of one byte more are whole", async () => {
    for (const size of [1024 * 1024, 1024 * 1024 + 1]) {
      await files().write("piece", new Blob([Buffer.alloc(size, 7)]), { useOctetStream: true });
      expect(statSync(here("piece")).size).toBe(size);
    }
  });

  test("a write replaces all of what was there", async () => {
    await files().write("again", "something long");
    await files().write("again", "short");
    expect(await files().read("again")).toBe("short");
  });

  test("folders that are missing are made", async () => {
    await files().write("deep/er/still/x.txt", "x");
    expect(await files().read("deep/er/still/x.txt")).toBe("x");
  });

  test("several files are written at once, each under its own path", async () => {
    const infos = await files().writeFiles([
      { path: "many/one.txt", data: "1" },
      { path: "many/sub/two.txt", data: "2" },
      { path: here("many/three.txt"), data: new Blob(["3"]) },
    ]);
    expect(infos.map((info) => info.path)).toEqual(
      ["many/one.txt", "many/sub/two.txt", "many/three.txt"].map(here),
    );
    expect(await files().read("many/sub/two.txt")).toBe("2");
    expect(await files().read("many/three.txt")).toBe("3");
  });

  test("several files are sent as streams too", async () => {
    const infos = await files().writeFiles(
      [
        { path: "streams/a", data: "a" },
        { path: "streams/b", data: "b" },
      ],
      { useOctetStream: true },
    );
    expect(infos.map((info) => info.name)).toEqual(["a", "b"]);
  });

  test("no file at all is nothing to do", async () => {
    expect(await files().writeFiles([])).toEqual([]);
  });

  test.each([
    "name with spaces",
    "quote'quote",
    "umläut-你好-🦀",
    "percent%20sign",
    "plus+and&amp;",
    "semi;colon",
    "#hash?",
  ])("a file named %s is written, read, listed and removed", async (name) => {
    const path = `odd/${name}`;
    await files().write(path, name);
    expect(await files().read(path)).toBe(name);
    expect((await files().list("odd")).map((entry) => entry.name)).toEqual([name]);
    await files().remove(path);
    expect(await files().exists(path)).toBe(false);
  });

  test("what commands write is read, and what is written commands read", async () => {
    await box.sandbox.commands.run("echo from a command > shared.txt");
    expect(await files().read("shared.txt")).toBe("from a command\n");
    await files().write("shared.txt", "from a client\n");
    expect((await box.sandbox.commands.run("cat shared.txt")).stdout).toBe("from a client\n");
  });

  test("a link is written through and stays a link", async () => {
    await files().write("target.txt", "old");
    symlinkSync("target.txt", here("to-target"));
    await files().write("to-target", "new");
    expect(await files().read("target.txt")).toBe("new");
    expect((await files().getInfo("to-target")).type).toBe("symlink");
  });

  test("a file that isn't there is not found", async () => {
    await expect(files().read("missing")).rejects.toThrow(FileNotFoundError);
    await expect(files().read("missing/deeper")).rejects.toThrow(FileNotFoundError);
  });

  test("a folder can be neither read nor written as a file", async () => {
    await files().makeDir("folder");
    await expect(files().read("folder")).rejects.toThrow(InvalidArgumentError);
    await expect(files().write("folder", "x")).rejects.toThrow(InvalidArgumentError);
  });

  test("a device is no file to read", async () => {
    await expect(files().read("/dev/zero")).rejects.toThrow(SandboxError);
  });

  test("the daemon's own data can't be reached", async () => {
    await expect(files().read(join(box.folder, "data/exec-daemon.json"))).rejects.toThrow(SandboxError);
    await expect(files().list(join(box.folder, "data"))).rejects.toThrow(SandboxError);
    await expect(files().write(join(box.folder, "data/x"), "x")).rejects.toThrow(SandboxError);
    expect(existsSync(join(box.folder, "data/x"))).toBe(false);
  });

  test("another account is refused for files too", async () => {
    await expect(files().read("a.txt", { user: "nobody-knows" })).rejects.toThrow("nobody-knows");
    await expect(files().list(".", { user: "nobody-knows" })).rejects.toThrow("nobody-knows");
    expect(await files().read("a.txt", { user: "user" })).toContain("päivää");
  });

  test("an interrupted upload leaves nothing behind", async () => {
    const ending = new AbortController();
    let sent = 0;
    const unfinished = new ReadableStream<Uint8Array>({
      async pull(controller) {
        await delay(2);
        sent += 1;
        if (sent === 12) ending.abort();
        if (sent < 12) controller.enqueue(new Uint8Array(256 * 1024));
      },
    });
    await expect(files().write("cut/short", unfinished, { signal: ending.signal })).rejects.toThrow();
    await until("nothing is left", async () => {
      const { stdout } = await box.sandbox.commands.run("ls -A cut 2>/dev/null || true");
      return stdout === "" ? true : undefined;
    });
  });
});

describe("what a file is", () => {
  test("a file is described with size, mode, owner and time", async () => {
    await files().write("info.txt", "test");
    const info = await files().getInfo("info.txt");
    expect(info).toMatchObject({
      ...{ name: "info.txt", path: here("info.txt"), type: "file", size: 4, mode: 0o644 },
      ...{ permissions: "-rw-r--r--", symlinkTarget: undefined },
    });
    const { stdout } = await box.sandbox.commands.run("stat -c '%U %G' info.txt; date +%s");
    const [owners, now] = stdout.trim().split("\n");
    expect(`${info.owner} ${info.group}`).toBe(owners);
    expect(Math.abs((info.modifiedTime?.getTime() ?? 0) / 1000 - Number(now))).toBeLessThan(60);
  });

  test("a folder is described", async () => {
    await files().makeDir("info-folder");
    const info = await files().getInfo("info-folder");
    expect(info).toMatchObject({ type: "dir", mode: 0o755, permissions: "drwxr-xr-x" });
  });

  test("a link says where it leads, whether something is there or not", async () => {
    symlinkSync("info.txt", here("link"));
    symlinkSync("/no/where", here("dangling"));
    expect(await files().getInfo("link")).toMatchObject({ type: "symlink", symlinkTarget: here("info.txt") });
    expect(await files().getInfo("dangling")).toMatchObject({ symlinkTarget: "/no/where" });
    expect(await files().exists("dangling")).toBe(true);
  });

  test("special bits are shown as ls shows them", async () => {
    await box.sandbox.commands.run("touch bits && chmod 4755 bits && mkdir sticky && chmod 1777 sticky");
    expect((await files().getInfo("bits")).permissions).toBe("-rwsr-xr-x");
    expect((await files().getInfo("sticky")).permissions).toBe("drwxrwxrwt");
  });

  test("what isn't there doesn't exist", async () => {
    expect(await files().exists("nothing")).toBe(false);
    await expect(files().getInfo("nothing")).rejects.toThrow(FileNotFoundError);
    expect(await files().exists("/")).toBe(true);
    expect((await files().getInfo("/")).name).toBe("/");
  });
});

describe("folders", () => {
  test("one is made once, with those above it", async () => {
    expect(await files().makeDir("made/deep/er")).toBe(true);
    expect(await files().makeDir("made/deep/er")).toBe(false);
    expect((await files().getInfo("made/deep")).type).toBe("dir");
  });

  test("where a file is no folder is made", async () => {
    await files().write("in-the-way", "x");
    await expect(files().makeDir("in-the-way")).rejects.toThrow(InvalidArgumentError);
    await expect(files().makeDir("in-the-way/below")).rejects.toThrow(InvalidArgumentError);
  });

  test.each([
    [undefined, ["file1.txt", "subdir1", "subdir2"]],
    [1, ["file1.txt", "subdir1", "subdir2"]],
    [2, ["file1.txt", "subdir1", "subdir1/a", "subdir1/b", "subdir2", "subdir2/a"]],
    [9, ["file1.txt", "subdir1", "subdir1/a", "subdir1/b", "subdir2", "subdir2/a", "subdir2/a/z"]],
  ])("to a depth of %s a listing has what is there, in order", async (depth, expected) => {
    for (const path of ["subdir1/a", "subdir1/b", "subdir2/a/z"]) await files().makeDir(`tree/${path}`);
    await files().write("tree/file1.txt", "x");
    const entries = await files().list("tree", depth === undefined ? {} : { depth });
    expect(entries.map((entry) => entry.path)).toEqual(expected.map((path) => here(`tree/${path}`)));
  });

  test("a depth of nothing is refused by the client itself", async () => {
    await expect(files().list(".", { depth: 0 })).rejects.toThrow(InvalidArgumentError);
  });

  test("an empty folder has no entries, and hidden names are entries", async () => {
    await files().makeDir("bare");
    expect(await files().list("bare")).toEqual([]);
    await files().write("bare/.hidden", "x");
    expect((await files().list("bare")).map((entry) => entry.name)).toEqual([".hidden"]);
  });

  test("a folder reached by a link is listed under the asked-for name, links within are not followed", async () => {
    await files().write("real/x.txt", "x");
    symlinkSync("real", here("by-link"));
    symlinkSync("..", here("real/loop"));
    const entries = await files().list("by-link", { depth: 5 });
    expect(entries.map((entry) => [entry.path, entry.type])).toEqual([
      [here("by-link/loop"), "symlink"],
      [here("by-link/x.txt"), "file"],
    ]);
  });

  test("a circle of links is an error of its own", async () => {
    symlinkSync("circle-b", here("circle-a"));
    symlinkSync("circle-a", here("circle-b"));
    await expect(files().list("circle-a")).rejects.toThrow(SandboxError);
    await expect(files().list("circle-a")).rejects.not.toThrow(FileNotFoundError);
  });

  test("what is no folder, or isn't there, can't be listed", async () => {
    await expect(files().list("info.txt")).rejects.toThrow(InvalidArgumentError);
    await expect(files().list("nothing-here")).rejects.toThrow(FileNotFoundError);
  });

  test("a folder of 3,000 files is listed whole", async () => {
    await box.sandbox.commands.run("mkdir big && cd big && seq -f 'f%05g' 1 3000 | xargs touch");
    expect((await files().list("big")).length).toBe(3000);
  });
});

describe("moving and removing", () => {
  test("a file is moved, and folders that are missing are made", async () => {
    await files().write("from.txt", "x");
    const info = await files().rename("from.txt", "new/place/to.txt");
    expect(info).toMatchObject({ name: "to.txt", path: here("new/place/to.txt"), type: "file" });
    expect(await files().exists("from.txt")).toBe(false);
    expect(await files().read("new/place/to.txt")).toBe("x");
  });

  test("a file at the destination is replaced", async () => {
    await files().write("one", "1");
    await files().write("other", "2");
    await files().rename("one", "other");
    expect(await files().read("other")).toBe("1");
  });

  test("a folder is moved with what is in it", async () => {
    await files().write("box/in/it", "x");
    await files().rename("box", "moved");
    expect(await files().read("moved/in/it")).toBe("x");
  });

  test("what isn't there can't be moved", async () => {
    await expect(files().rename("nothing", "somewhere")).rejects.toThrow(FileNotFoundError);
  });

  test("a file and a full folder are removed, and again is no error", async () => {
    await files().write("away/in/it", "x");
    await files().remove("away");
    expect(await files().exists("away")).toBe(false);
    await files().remove("away");
  });

  test("a path that was forgotten means nothing, and not the home", async () => {
    await expect(files().remove("")).rejects.toThrow(InvalidArgumentError);
    await expect(files().rename("", "x")).rejects.toThrow(InvalidArgumentError);
    await expect(files().rename("x", "")).rejects.toThrow(InvalidArgumentError);
    expect(existsSync(box.home)).toBe(true);
  });

  test("of a link the link is removed", async () => {
    await files().write("kept/x", "x");
    symlinkSync("kept", here("to-kept"));
    await files().remove("to-kept");
    expect(await files().read("kept/x")).toBe("x");
  });
});

describe("attributes of files", () => {
  test("what an upload gave along is told, and kept over a move", async () => {
    const metadata = { author: "me", purpose: "a test, of all" };
    const info = await files().write("meta.txt", "x", { metadata });
    expect(info.metadata).toEqual(metadata);
    expect((await files().getInfo("meta.txt")).metadata).toEqual(metadata);
    expect((await files().rename("meta.txt", "meta-moved.txt")).metadata).toEqual(metadata);
  });

  test("each upload replaces the whole set", async () => {
    await files().write("meta-again", "x", { metadata: { a: "1", b: "2" } });
    await files().write("meta-again", "x", { metadata: { c: "3" } });
    expect((await files().getInfo("meta-again")).metadata).toEqual({ c: "3" });
    await files().write("meta-again", "x");
    expect((await files().getInfo("meta-again")).metadata).toBeUndefined();
  });

  test("files of one upload all get it, and listings tell it", async () => {
    const paths = ["meta-many/1", "meta-many/2"];
    await files().writeFiles(
      paths.map((path) => ({ path, data: path })),
      { metadata: { set: "one" } },
    );
    const entries = await files().list("meta-many");
    expect(entries.map((entry) => entry.metadata)).toEqual([{ set: "one" }, { set: "one" }]);
  });

  test("it is sent with a packed body too", async () => {
    await files().write("meta-gzip", "x", { gzip: true, metadata: { packed: "yes" } });
    expect((await files().getInfo("meta-gzip")).metadata).toEqual({ packed: "yes" });
  });

  test("what a command marks in the same way is told", async () => {
    writeFileSync(here("marked"), "x");
    const program = `import os; os.setxattr("marked", "user.e2b.by", b"a command"); os.setxattr("marked", "user.other", b"x")`;
    await box.sandbox.commands.run(`python3 -c '${program}'`);
    expect((await files().getInfo("marked")).metadata).toEqual({ by: "a command" });
  });

  test("a set that is too large is refused before anything is written", async () => {
    const metadata = { big: "x".repeat(4096) };
    await expect(files().write("meta-big", "x", { metadata })).rejects.toThrow(InvalidArgumentError);
    expect(await files().exists("meta-big")).toBe(false);
  });
});
