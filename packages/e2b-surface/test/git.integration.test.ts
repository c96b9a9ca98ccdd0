/** The SDK's git module, which is commands all the way: it shows that home, folder, output and errors fit together. */
import { InvalidArgumentError } from "e2b";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { type E2bBox, slowMs, startE2bBox } from "./e2b-box.ts";

vi.setConfig({ testTimeout: slowMs, hookTimeout: slowMs });

let box: E2bBox;
const git = () => box.sandbox.git;

beforeAll(async () => {
  box = await startE2bBox();
  await git().configureUser("Tester", "tester@example.com");
  await git().init("origin.git", { bare: true, initialBranch: "main" });
});
afterAll(() => box.dispose());

async function repository(path: string): Promise<void> {
  await git().init(path, { initialBranch: "main" });
  await box.sandbox.files.write(`${path}/first.txt`, "first\n");
  await git().add(path);
  await git().commit(path, "first");
}

test("the user's settings are kept in the home, and read back", async () => {
  expect(await git().getConfig("user.name")).toBe("Tester");
  expect(await git().getConfig("user.none")).toBeUndefined();
  expect(await box.sandbox.files.read(".gitconfig")).toContain("tester@example.com");
});

test("a repository is made, and its state told", async () => {
  await git().init("state", { initialBranch: "main" });
  await box.sandbox.files.write("state/new.txt", "x");
  const status = await git().status("state");
  expect(status.currentBranch).toBe("main");
  expect(status.fileStatus.map(({ name, status: kind }) => [name, kind])).toEqual([["new.txt", "untracked"]]);
});

test("changes are added and committed, with an author of one's own", async () => {
  await repository("commits");
  await box.sandbox.files.write("commits/second.txt", "second");
  await git().add("commits", { files: ["second.txt"] });
  await git().commit("commits", 'it\'s "second"', { authorName: "Other", authorEmail: "o@example.com" });
  const { stdout } = await box.sandbox.commands.run("git -C commits log --format='%an|%s'");
  expect(stdout).toBe('Other|it\'s "second"\nTester|first\n');
});

test("an empty commit is made only when it is allowed", async () => {
  await repository("empty");
  await expect(git().commit("empty", "nothing")).rejects.toThrow("exit status 1");
  await git().commit("empty", "nothing", { allowEmpty: true });
});

test("branches are made, changed and removed", async () => {
  await repository("branches");
  await git().createBranch("branches", "topic");
  expect(await git().branches("branches")).toMatchObject({ currentBranch: "topic" });
  await git().checkoutBranch("branches", "main");
  await git().deleteBranch("branches", "topic");
  expect((await git().branches("branches")).branches).toEqual(["main"]);
});

test("what was changed is put back", async () => {
  await repository("restore");
  await box.sandbox.files.write("restore/first.txt", "changed");
  await git().restore("restore", { paths: ["first.txt"] });
  expect(await box.sandbox.files.read("restore/first.txt")).toBe("first\n");
});

test("a reset takes commits back", async () => {
  await repository("reset");
  await git().commit("reset", "more", { allowEmpty: true });
  await git().reset("reset", { mode: "hard", target: "HEAD~1" });
  const { stdout } = await box.sandbox.commands.run("git -C reset rev-list --count HEAD");
  expect(stdout).toBe("1\n");
});

test("a repository is pushed, cloned and pulled over a path", async () => {
  const url = `${box.home}/origin.git`;
  await repository("source");
  await git().remoteAdd("source", "origin", url);
  expect(await git().remoteGet("source", "origin")).toBe(url);
  await git().push("source", { remote: "origin", branch: "main" });
  await git().clone(url, { path: "copy", branch: "main" });
  expect(await box.sandbox.files.read("copy/first.txt")).toBe("first\n");
  await box.sandbox.files.write("source/later.txt", "later");
  await git().add("source");
  await git().commit("source", "later");
  await git().push("source", { remote: "origin", branch: "main" });
  await git().pull("copy");
  expect(await box.sandbox.files.read("copy/later.txt")).toBe("later");
});

test("a clone of nothing fails as the command fails", async () => {
  await expect(git().clone(`${box.home}/no-such.git`, { path: "never" })).rejects.toThrow("exit status 128");
});

test("a password without a name is refused by the client itself", async () => {
  await expect(git().clone("https://example.invalid/x.git", { password: "x" })).rejects.toThrow(
    InvalidArgumentError,
  );
});
