/** Watching folders: through the unmodified SDK, and in the polling form that it doesn't use. */
import { rename, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { EventType, Filesystem } from "@sand/protocol/e2b";
import { FileNotFoundError, type FilesystemEvent, InvalidArgumentError, TimeoutError } from "e2b";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { type E2bBox, slowMs, startE2bBox, token, until } from "./e2b-box.ts";

vi.setConfig({ testTimeout: slowMs, hookTimeout: slowMs });

let box: E2bBox;
beforeAll(async () => {
  box = await startE2bBox();
});
afterAll(() => box.dispose());

async function watch(folder: string, options: object = {}) {
  await box.sandbox.files.makeDir(folder);
  const events: FilesystemEvent[] = [];
  const handle = await box.sandbox.files.watchDir(folder, (event) => void events.push(event), options);
  const sees = (name: string, type: string) =>
    until(`${name} is told as ${type}; told was ${JSON.stringify(events)}`, () =>
      events.find((event) => event.name === name && event.type === type),
    );
  return { handle, events, sees, at: (name: string) => join(box.home, folder, name) };
}

describe("a watched folder", () => {
  test("a file that the SDK writes is told as made and as written", async () => {
    const { handle, sees } = await watch("w1");
    await box.sandbox.files.write("w1/new.txt", "x");
    await sees("new.txt", "create");
    await sees("new.txt", "write");
    await handle.stop();
  });

  test("a file that is written again is told as written", async () => {
    await box.sandbox.files.write("w2/old.txt", "x");
    const { handle, sees } = await watch("w2");
    await box.sandbox.files.write("w2/old.txt", "changed");
    await sees("old.txt", "write");
    await handle.stop();
  });

  test("what a command writes in place is told", async () => {
    const { handle, sees } = await watch("w3");
    await box.sandbox.commands.run("echo 1 > w3/log; echo 2 >> w3/log");
    await sees("log", "create");
    await sees("log", "write");
    await handle.stop();
  });

  test("a removal is told", async () => {
    await box.sandbox.files.write("w4/gone", "x");
    const { handle, sees, at } = await watch("w4");
    await unlink(at("gone"));
    await sees("gone", "remove");
    await handle.stop();
  });

  test("a rename is told under the old name, and the new one as made", async () => {
    await box.sandbox.files.write("w5/old", "x");
    const { handle, sees, at } = await watch("w5");
    await rename(at("old"), at("new"));
    await sees("old", "rename");
    await sees("new", "create");
    await handle.stop();
  });

  test("a change of the mode is told", async () => {
    await box.sandbox.files.write("w6/mode", "x");
    const { handle, sees } = await watch("w6");
    await box.sandbox.commands.run("chmod 600 w6/mode");
    await sees("mode", "chmod");
    await handle.stop();
  });

  test("a folder that is made is told", async () => {
    const { handle, sees } = await watch("w7");
    await box.sandbox.files.makeDir("w7/sub");
    await sees("sub", "create");
    await handle.stop();
  });

  test("below it nothing is told, unless all below was asked for", async () => {
    await box.sandbox.files.makeDir("w8/sub");
    const { handle, events, sees } = await watch("w8");
    await box.sandbox.files.write("w8/sub/below", "x");
    await box.sandbox.files.write("w8/beside", "x");
    await sees("beside", "write");
    expect(events.some(({ name }) => name.includes("below"))).toBe(false);
    await handle.stop();
  });

  test("with all below, names are relative to the watched folder", async () => {
    await box.sandbox.files.makeDir("w9/sub");
    const { handle, sees } = await watch("w9", { recursive: true });
    await box.sandbox.files.write("w9/sub/below", "x");
    await sees("sub/below", "write");
    await handle.stop();
  });

  test("a folder that is made later is watched too, with what is put into it", async () => {
    const { handle, sees } = await watch("w10", { recursive: true });
    await box.sandbox.files.write("w10/later/deep/file", "x");
    await sees("later", "create");
    await sees("later/deep/file", "write");
    await handle.stop();
  });

  test("an event brings what is there, when that was asked for", async () => {
    const { handle, sees, at } = await watch("w11", { includeEntry: true });
    await box.sandbox.files.write("w11/info.txt", "four");
    const event = await sees("info.txt", "write");
    expect(event.entry).toMatchObject({ name: "info.txt", path: at("info.txt"), type: "file", size: 4 });
    await handle.stop();
  });

  test("without that there is none", async () => {
    const { handle, sees, at } = await watch("w12");
    await writeFile(at("plain"), "x");
    expect((await sees("plain", "create")).entry).toBeUndefined();
    await handle.stop();
  });

  test("after it was stopped nothing is told", async () => {
    const { handle, events } = await watch("w13");
    await handle.stop();
    await box.sandbox.files.write("w13/late", "x");
    const { handle: other, sees } = await watch("w13");
    await box.sandbox.files.write("w13/later", "x");
    await sees("later", "write");
    expect(events).toEqual([]);
    await other.stop();
  });

  test("several watchers of one folder all see it", async () => {
    const all = await Promise.all([watch("w14"), watch("w14"), watch("w14")]);
    await box.sandbox.files.write("w14/x", "x");
    await Promise.all(all.map(({ sees }) => sees("x", "write")));
    await Promise.all(all.map(({ handle }) => handle.stop()));
  });

  test("its limit ends it, and that is told", async () => {
    const ended = Promise.withResolvers<unknown>();
    await watch("w15", { timeoutMs: 600, onExit: (error: unknown) => ended.resolve(error) });
    expect(await ended.promise).toBeInstanceOf(TimeoutError);
  });

  test("what isn't there, and what is a file, can't be watched", async () => {
    await box.sandbox.files.write("a-file", "x");
    await expect(box.sandbox.files.watchDir("nothing", () => undefined)).rejects.toThrow(FileNotFoundError);
    await expect(box.sandbox.files.watchDir("a-file", () => undefined)).rejects.toThrow(InvalidArgumentError);
  });
});

describe("a watcher that is asked from time to time", () => {
  const client = () =>
    createClient(
      Filesystem,
      createConnectTransport({
        ...{ baseUrl: box.url, httpVersion: "1.1", useBinaryFormat: true },
        interceptors: [
          (next) => (request) => {
            request.header.set("x-access-token", token);
            return next(request);
          },
        ],
      }),
    );

  test("it gives what came since the last question, once", async () => {
    await box.sandbox.files.makeDir("p1");
    const { watcherId } = await client().createWatcher({ path: "p1" });
    await box.sandbox.files.write("p1/x", "x");
    const seen: [string, EventType][] = [];
    await until("the write is told", async () => {
      const { events } = await client().getWatcherEvents({ watcherId });
      seen.push(...events.map(({ name, type }): [string, EventType] => [name, type]));
      return seen.some(([, type]) => type === EventType.WRITE) ? true : undefined;
    });
    expect(seen).toContainEqual(["x", EventType.CREATE]);
    await client().removeWatcher({ watcherId });
    await expect(client().getWatcherEvents({ watcherId })).rejects.toThrow("there is no such watcher");
  });

  test("one for nothing, or for a file, isn't made", async () => {
    await expect(client().createWatcher({ path: "nothing" })).rejects.toThrow("not_found");
    await expect(client().createWatcher({ path: "a-file" })).rejects.toThrow("invalid_argument");
  });

  test("there are at most 32, and one that is removed makes place", async () => {
    const made: string[] = [];
    const one = async () => (await client().createWatcher({ path: "~" })).watcherId;
    await expect(
      (async () => {
        for (let n = 0; n < 40; n += 1) made.push(await one());
      })(),
    ).rejects.toThrow("resource_exhausted");
    expect(made.length).toBe(32);
    await client().removeWatcher({ watcherId: made.pop() ?? "" });
    made.push(await one());
    for (const watcherId of made) await client().removeWatcher({ watcherId });
  });
});
