/** The newer file operations as another account, which only root can be asked to do: whose files, and whose rights. */
import { chmodSync, chownSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ConnectError } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "./daemon-process.ts";

const nobody = 65_534;
const isRoot = process.getuid?.() === 0;
const text = (value: string): Uint8Array => new TextEncoder().encode(value);

describe.skipIf(!isRoot)("an account for file operations (needs root)", () => {
  let daemon: TestDaemon;
  const inWorkspace = (name: string): string => join(daemon.workspace, name);

  beforeAll(async () => {
    daemon = await startTestDaemon({ SAND_BOX_COMMAND_UID: String(nobody) });
    chmodSync(daemon.folder, 0o711);
    chownSync(daemon.workspace, nobody, nobody);
  });
  afterAll(() => daemon.dispose());

  async function codeOf(work: Promise<unknown>): Promise<string | null> {
    const failure = await work.then(
      () => undefined,
      (error: unknown) => error,
    );
    return failure === undefined ? "no failure" : ConnectError.from(failure).metadata.get("x-sand-code");
  }

  test("everything that is made belongs to the account", async () => {
    const { files } = daemon;
    await files.make({ path: "made/deep" });
    await files.append({ path: "made/appended", data: text("x") });
    await files.link({ path: "made/linked", target: "appended" });
    await files.copy({ path: "made/appended", destination: "made/copied" });
    await files.move({ path: "made/copied", destination: "moved/to" });
    await files.uploadPiece({ path: "made/uploaded", uploadId: "u", data: text("x") });
    await files.uploadCommit({ path: "made/uploaded", uploadId: "u", sizeBytes: 1n });
    const made = ["made", "made/deep", "made/appended", "made/linked", "moved", "moved/to", "made/uploaded"];
    for (const name of made)
      expect(statSync(inWorkspace(name)), name).toMatchObject({ uid: nobody, gid: nobody });
    expect(await files.remove({ path: "made", recursive: true })).toMatchObject({ removed: 5n });
  });

  test("what the account may not do is refused by the kernel, and nothing is changed", async () => {
    const { files } = daemon;
    mkdirSync(inWorkspace("roots"), { mode: 0o755 });
    writeFileSync(inWorkspace("roots/file"), "root's", { mode: 0o600 });
    const refused = [
      files.read({ path: "roots/file" }),
      files.append({ path: "roots/file", data: text("x") }),
      files.make({ path: "roots/made" }),
      files.move({ path: "roots/file", destination: "taken" }),
      files.copy({ path: "roots/file", destination: "taken" }),
      files.remove({ path: "roots/file" }),
      files.link({ path: "roots/link", target: "file" }),
      files.uploadPiece({ path: "roots/file", uploadId: "u", data: text("x") }),
      files.write({ path: "/etc/planted-by-sand", data: text("x"), operationId: "as-user" }),
      files.remove({ path: "/etc/passwd" }),
      files.move({ path: "/etc/passwd", destination: "passwd" }),
    ];
    expect(new Set(await Promise.all(refused.map(codeOf)))).toEqual(new Set(["file/denied"]));
    expect(readFileSync(inWorkspace("roots/file"), "utf8")).toBe("root's");
  });

  test("a watch tells what the account may see, and leaves out the folders that it may not enter", async () => {
    mkdirSync(inWorkspace("seen/closed"), { recursive: true });
    chmodSync(inWorkspace("seen/closed"), 0o700);
    const ending = new AbortController();
    const names: string[] = [];
    for await (const { event } of daemon.files.watch(
      { path: "seen", recursive: true },
      { signal: ending.signal },
    )) {
      if (event.case === "started") {
        expect(event.value).toMatchObject({ folders: 1, entries: 1 });
        writeFileSync(inWorkspace("seen/closed/unseen"), "");
        writeFileSync(inWorkspace("seen/last"), "");
      }
      if (event.case === "change") names.push(event.value.name);
      if (names.includes("last")) break;
    }
    ending.abort();
    expect(names).toEqual(["last"]);
  });
});
