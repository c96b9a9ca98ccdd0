/** Sessions of tmux: made, listed, shown by a terminal, over a restart of the daemon, and gone. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Code, ConnectError } from "@connectrpc/connect";
import { parseExecDiscovery } from "@sand/protocol/exec";
import { Tmux } from "@sand/protocol/exec-shells";
import { afterEach, expect, test, vi } from "vitest";
import { startTestDaemon, type TestDaemon, token, until } from "./daemon-process.ts";
import { connect } from "./pty-world.ts";
import { clientOf } from "./shells-world.ts";

vi.setConfig({ testTimeout: 90_000, hookTimeout: 90_000 });

let daemon: TestDaemon | undefined;
afterEach(async () => {
  await daemon?.dispose();
  daemon = undefined;
});

const hasTmux = existsSync("/usr/bin/tmux");

async function showIn(current: TestDaemon, argv: readonly string[]) {
  const port = parseExecDiscovery(readFileSync(join(current.dataRoot, "exec-daemon.json"), "utf8"))?.ptyPort;
  const response = await fetch(`http://127.0.0.1:${port}/terminals`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}` },
    body: JSON.stringify({ id: "shown", argv }),
  });
  expect(response.status).toBe(201);
  return await connect(`ws://127.0.0.1:${port}/terminals/shown/attach`);
}

// Where tmux isn't installed there is nothing to test.
test.skipIf(!hasTmux).each([
  ["plain", {}],
  ["in a sandbox", { SAND_SANDBOX: "required" }],
])(
  "a session of tmux outlives its clients and the daemon, and is gone when it is killed: %s",
  async (_name, env) => {
    daemon = await startTestDaemon(env);
    const first = clientOf(daemon, Tmux);
    expect((await first.list({})).sessions).toEqual([]);
    const made = await first.create({ name: "work", cwd: daemon.workspace, env: { GREETING: "hello" } });
    expect(made).toMatchObject({ existing: false, session: { name: "work", windows: 1, attached: 0 } });
    expect((await first.create({ name: "work" })).existing).toBe(true);
    const shown = await showIn(daemon, made.session?.attachArgv ?? []);
    shown.type("echo $GREETING-$((40 + 2))\r");
    await shown.saw(/hello-42/u, 20_000);
    await shown.close();
    const words = ["sh", "-c", "echo $0 > words; sleep 1000;", "-a b;"];
    await first.create({ name: "words", cwd: daemon.workspace, argv: words });
    const written = join(daemon.workspace, "words");
    await until(
      "the words are written",
      () => (existsSync(written) && readFileSync(written, "utf8")) || undefined,
    );
    expect(readFileSync(written, "utf8")).toBe("-a b;\n");
    expect(await first.kill({ name: "words" })).toMatchObject({ existed: true });
    await daemon.kill();
    daemon = await daemon.again();
    const second = clientOf(daemon, Tmux);
    expect((await second.list({})).sessions.map(({ name }) => name)).toEqual(["work"]);
    expect(await second.kill({ name: "work" })).toMatchObject({ existed: true });
    expect(await second.kill({ name: "work" })).toMatchObject({ existed: false });
    const refused = await second
      .create({ name: "a:b" })
      .catch((error: unknown) => ConnectError.from(error).code);
    expect(refused).toBe(Code.InvalidArgument);
  },
);
