/** A bundle alone in an empty folder opens a real terminal with the addon that it carries, and draws it. */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { bundle } from "./bundle.mjs";
import { repositoryRoot } from "./outputs.mjs";

const program = `
import { isMainThread } from "node:worker_threads";
import { createNodePtyBackend } from "../../packages/exec-daemon/src/pty/node-pty-backend.ts";
import { runScreenRole } from "../../packages/exec-daemon/src/pty/screen-role.ts";
import { createScreens } from "../../packages/exec-daemon/src/pty/screens.ts";

function runTerminal() {
  const backend = createNodePtyBackend({ nativesFolder: process.argv[2] });
  const screens = createScreens({ entry: __filename, log: console });
  const size = { cols: 40, rows: 4 };
  const nothing = () => undefined;
  const events = { onBehind: nothing, onTitle: nothing, onCwd: nothing };
  const screen = screens.open("t", size, { ...events, replay: nothing });
  const launch = { argv: ["/bin/sh", "-c", "tty > /dev/null && echo a terminal"], env: {}, cwd: "/", executionId: "t" };
  backend.spawn({ ...launch, ...size }, {
    onData: (bytes) => screen.write(bytes),
    onExit: () => void screen.picture().then(({ data }) => {
      console.log(JSON.stringify(data));
      return screens.close();
    }),
  });
}
if (isMainThread) runTerminal();
else void runScreenRole();
`;

let folder = "";
let planted = "";
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "sand-alone-"));
  mkdirSync(join(repositoryRoot, ".tmp"), { recursive: true });
  planted = mkdtempSync(join(repositoryRoot, ".tmp", "pty-"));
  writeFileSync(join(planted, "main.ts"), program);
  const entry = join(".tmp", planted.slice(planted.lastIndexOf("/") + 1), "main.ts");
  await bundle({ root: repositoryRoot, entry, outfile: join(folder, "main.cjs"), failpoints: false });
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
  rmSync(planted, { recursive: true, force: true });
});

test("a bundle alone in a folder has terminals and their screens", () => {
  const { NODE_PATH: _, ...env } = process.env;
  const natives = join(folder, "natives");
  const run = () =>
    execFileSync(process.execPath, [join(folder, "main.cjs"), natives], {
      cwd: folder,
      env,
      encoding: "utf8",
    });
  expect(JSON.parse(run())).toMatch(/^a terminal/);
  expect(JSON.parse(run())).toMatch(/^a terminal/);
  expect(readdirSync(natives)).toHaveLength(1);
});
