/** `sand attach` against the real daemon, in a real terminal: a pane of tmux, driven by keys and read as a screen. */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { createTestHome, type TestHome, waitFor } from "./run-sand.ts";
import { daemonToken, startTestDaemon, type TestDaemon } from "./test-daemon.ts";
import { hasTmux, openPane } from "./tmux-pane.ts";

const slowMs = 120_000;
const sources = fileURLToPath(new URL("../src/main.ts", import.meta.url));
/** A daemon whose terminals end with it: by themselves they would outlive it. */
async function startDaemon(home: TestHome): Promise<TestDaemon> {
  const daemon = await startTestDaemon(home);
  const end = async (): Promise<void> => {
    const { ptyPort } = JSON.parse(readFileSync(join(home.dataRoot, "exec-daemon.json"), "utf8"));
    const base = `http://127.0.0.1:${ptyPort}/terminals`;
    const headers = { authorization: `Bearer ${daemonToken}` };
    const { terminals } = Object(await (await fetch(base, { headers })).json());
    await Promise.all(
      terminals.map(({ id }: { id: string }) => fetch(`${base}/${id}`, { headers, method: "DELETE" })),
    );
    await daemon[Symbol.asyncDispose]();
  };
  return { pid: daemon.pid, kill: daemon.kill, [Symbol.asyncDispose]: end };
}

const sand = (...words: readonly string[]): string => `${process.execPath} ${sources} ${words.join(" ")}`;
const inner = ["attach", "--new", "--", "env", "PS1='inner> '", "bash", "--norc", "--noprofile"];

describe.skipIf(!hasTmux)("a person in a terminal", () => {
  test("works in a shell of the box at the terminal's own size, and its exit status is ours", {
    timeout: slowMs,
  }, async () => {
    using home = createTestHome();
    await using _daemon = await startDaemon(home);
    using pane = openPane(home, "work");
    await pane.shows(/outer\$$/mu);
    pane.line(`${sand(...inner)}; echo "status=$?"; stty -a`);
    await pane.shows(/inner>$/mu);
    pane.line("stty size; sleep 300");
    await pane.shows(/^30 100$/mu);
    pane.keys("C-c");
    await pane.shows(/\^C\s+inner>$/mu);
    pane.resize(120, 40);
    pane.line("until stty size | grep '^40 120$'; do sleep 0.1; done");
    await pane.shows(/^40 120$/mu);
    pane.line("exit 7");
    await pane.shows(/status=7/u);
    // The person's own terminal is as it was.
    await pane.shows(/\bicanon\b/u);
    expect(pane.screen()).not.toMatch(/-icanon|-echo\b/u);
  });

  test("leaves by a key and comes back to what ran on", { timeout: slowMs }, async () => {
    using home = createTestHome();
    await using _daemon = await startDaemon(home);
    using pane = openPane(home, "leave");
    await pane.shows(/outer\$$/mu);
    pane.line(`clear; ${sand(...inner)}; echo "status=$?"`);
    await pane.shows(/inner>$/mu);
    pane.line("kept=remembered; (sleep 1; echo printed-mean while) &");
    pane.keys("C-]");
    await pane.shows(/it runs on[\s\S]*status=0/u);
    pane.line(`clear; ${sand("attach")}`);
    // What is typed before the new screen is there goes nowhere, and the old one has the same words.
    await pane.shows(/^(?![\s\S]*it runs on)[\s\S]*\ninner> printed-mean while/u);
    pane.line("echo still-$kept");
    await pane.shows(/still-remembered/u);
    pane.line("exit");
    await pane.shows(/outer\$$/mu);
  });

  test("a second one is refused with a way out, looks on, and takes over", { timeout: slowMs }, async () => {
    using home = createTestHome();
    await using _daemon = await startDaemon(home);
    using first = openPane(home, "first");
    using second = openPane(home, "second");
    await first.shows(/outer\$$/mu);
    first.line(`${sand(...inner)}; echo "status=$?"`);
    await first.shows(/inner>$/mu);
    second.line(`${sand("attach")}; echo "status=$?"`);
    await second.shows(/--takeover\s+status=5/u);
    second.line(`clear; ${sand("attach", "--view")}; echo "status=$?"`);
    await second.shows(/inner>$/mu);
    first.line("echo seen-by both");
    await second.shows(/^seen-by both$/mu);
    second.keys("C-]");
    await second.shows(/status=0/u);
    second.line(`clear; ${sand("attach", "--takeover")}`);
    await first.shows(/taken over[\s\S]*status=5/u);
    second.line("echo mine-now; exit");
    await second.shows(/^mine-now$/mu);
  });

  test("a signal that ends it gives the terminal back", { timeout: slowMs }, async () => {
    using home = createTestHome();
    await using _daemon = await startDaemon(home);
    using pane = openPane(home, "signal");
    await pane.shows(/outer\$$/mu);
    pane.line(`echo $$ > ${join(home.folder, "outer.pid")}; ${sand(...inner)}; echo "status=$?"; stty -a`);
    await pane.shows(/inner>$/mu);
    const outer = readFileSync(join(home.folder, "outer.pid"), "utf8").trim();
    const pid = readFileSync(`/proc/${outer}/task/${outer}/children`, "utf8").trim();
    process.kill(Number(pid), "SIGTERM");
    await pane.shows(/status=143/u);
    await pane.shows(/[^-]icanon\b/u);
  });

  test("a connection that is lost is made again by itself, without a key typed twice", {
    timeout: slowMs,
  }, async () => {
    using home = createTestHome();
    const daemon = await startTestDaemon(home);
    using pane = openPane(home, "lost");
    await pane.shows(/outer\$$/mu);
    pane.line(sand(...inner));
    await pane.shows(/inner>$/mu);
    pane.line("kept=remembered; echo kept");
    await pane.shows(/^kept$/mu);
    await daemon.kill();
    await using _again = await startDaemon(home);
    await waitFor(
      "it is attached again",
      () => {
        const listed = spawnSync(process.execPath, [sources, "attach", "--list"], {
          env: { ...home.environment },
        });
        return listed.stdout.toString().includes("in use");
      },
      60_000,
    );
    pane.line("echo still-$kept");
    await pane.shows(/still-remembered/u);
    pane.line("exit");
  });
});

test("without a terminal, a daemon or a thing to open, one line says what to do", {
  timeout: slowMs,
}, async () => {
  using home = createTestHome();
  expect((await home.run(["attach"])).stderr).toMatch(
    /no execution daemon runs here\n {2}a host starts it when/u,
  );
  await using _daemon = await startDaemon(home);
  const piped = await home.run(["attach", "--new"]);
  expect(piped.code).toBe(2);
  expect(piped.stderr).toMatch(/needs a terminal of its own/u);
  expect(await home.run(["attach", "--list"])).toMatchObject({
    code: 0,
    stdout: "No terminal here. Make one: sand attach --new\n",
  });
});
