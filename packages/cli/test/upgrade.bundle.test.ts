/** `sand upgrade` with the real host and daemon, as the bundles that are shipped. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { createTestHome, type Ran, waitFor } from "./run-sand.ts";

const program = fileURLToPath(new URL("../../../dist/sand.cjs", import.meta.url));

test("upgrade replaces the host under a running command, keeps port, folder and fence, and the turn goes on", {
  timeout: 300_000,
}, async () => {
  using home = createTestHome();
  const env = { SAND_SANDBOX: "off", SAND_HOST_PORT: "0" };
  const sand = (...words: readonly string[]): Promise<Ran> => home.run(words, { program, env });
  try {
    expect((await sand("upgrade")).code).toBe(3);
    const first = JSON.parse((await sand("up", "--local", "--json")).stdout);
    expect((await sand("agents", "create", "main")).code).toBe(0);
    const begun = join(first.workspace, "begun");
    const goOn = join(first.workspace, "go-on");
    const command = `echo begun >> ${begun}; for i in $(seq 2000); do [ -e ${goOn} ] && break; sleep 0.05; done; echo all-$((1 + 1))-over`;
    expect((await sand("send", "main", `run: ${command}`)).code).toBe(0);
    await waitFor("the command to run", () => existsSync(begun));
    // From another folder and without the settings of before: the host's own count.
    const ran = await home.run(["upgrade", "--json"], { program, env: { SAND_HOST_PORT: "1" } });
    const next = JSON.parse(ran.stdout);
    expect(next).toMatchObject({
      ...{ began: "upgraded", url: first.url, workspace: first.workspace, sandbox: "off" },
    });
    expect(next.pid).not.toBe(first.pid);
    writeFileSync(goOn, "");
    await waitUntilShown(() => sand("transcript", "main"), "all-2-over");
    expect(readFileSync(begun, "utf8")).toBe("begun\n");
    expect(JSON.parse((await sand("up", "--json")).stdout)).toMatchObject({
      ...{ began: "already-running", pid: next.pid, notes: [] },
    });
  } finally {
    await sand("down", "--force");
  }
});

/** The command's output is in the transcript, whose last entry is the turn's answer. */
async function waitUntilShown(show: () => Promise<Ran>, text: string): Promise<void> {
  const endMs = Date.now() + 60_000;
  for (;;) {
    const { stdout } = await show();
    if (stdout.includes(text)) return;
    if (Date.now() > endMs) throw new Error(`the transcript doesn't show ${text}:\n${stdout}`);
  }
}
