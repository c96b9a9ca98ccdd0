/** Terminals behind the same fences as commands: a sandbox, another account, and both kinds of backend. */
import { spawnSync } from "node:child_process";
import { chmodSync, chownSync } from "node:fs";
import { dirname } from "node:path";
import { describe, expect, test } from "vitest";
import { token, until } from "./daemon-process.ts";
import { type PtyClient, type PtyWorld, startPtyWorld } from "./pty-world.ts";

const nobody = 65_534;
const isRoot = process.getuid?.() === 0;
const isRequired = (process.env.SAND_TEST_REQUIRE ?? "").includes("bwrap");
const hasBubblewrap = isRequired || spawnSync("bwrap", ["--version"]).status === 0;
const patientMs = 90_000;

const keepers = ["node", "shim"] as const;

async function bashIn(world: PtyWorld): Promise<PtyClient> {
  const id = await world.spawn(["/bin/bash", "--norc", "--noprofile"], { env: { PS1: "ready> " } });
  const client = await world.attach(id, "cols=200&rows=24");
  await until("the shell is at its prompt", () => {
    const picture = client.control.findLast(({ type }) => type === "snapshot");
    return `${String(picture?.data ?? "")}${client.text()}`.includes("ready> ") || undefined;
  });
  return client;
}

async function controlJobs(client: PtyClient): Promise<void> {
  client.type("echo started; cat\n");
  await client.saw(/[\r\n]started\r\n/u);
  client.type("\u001a");
  await client.saw(/Stopped.*ready> /su);
  client.type("fg\n");
  await client.saw(/fg\r\n.*cat\r\n/su);
  client.type("typed\n");
  await client.saw(/typed\r\n.*typed/su);
  client.type("\u0003");
  await client.saw(/\^C.*ready> /su);
  client.type("echo after=$?\n");
  await client.saw(/after=130/u);
  expect(client.text()).not.toMatch(/no job control|can't access tty|not a tty/u);
}

describe.each(keepers)("terminals kept by %s", (keeper) => {
  test.skipIf(!hasBubblewrap)(
    "in a sandbox have a terminal, control jobs, and reach no token",
    { timeout: patientMs },
    async () => {
      const world = await startPtyWorld({ SAND_SANDBOX: "required", SAND_KEEPER: keeper });
      const client = await bashIn(world);
      client.type("tty; echo pid=$$\n");
      await client.saw(/\/dev\/(console|pts\/\d+)\r\npid=\d{1,2}\r\n/u);
      await controlJobs(client);
      client.type(
        `ls ${dirname(world.workspace)}/data; cat /proc/[0-9]*/environ | tr '\\0' '\\n'; echo looked\n`,
      );
      await client.saw(/[\r\n]looked/u);
      expect(client.text()).not.toContain(token);
      await client.close();
      await world.dispose();
    },
  );

  test.skipIf(!isRoot)(
    "as another account have its rights, and may open the terminal again",
    { timeout: patientMs },
    async () => {
      const world = await startPtyWorld({ SAND_BOX_COMMAND_UID: String(nobody), SAND_KEEPER: keeper });
      chmodSync(dirname(world.workspace), 0o711);
      chownSync(world.workspace, nobody, nobody);
      const client = await bashIn(world);
      client.type("id -u; grep NoNewPrivs /proc/self/status; echo to-the-terminal > /dev/tty; echo done\n");
      await client.saw(/[\r\n]65534\r\nNoNewPrivs:\t1\r\nto-the-terminal\r\ndone/u);
      await controlJobs(client);
      client.say({ type: "signal", name: "HUP" });
      expect(await client.closed()).toMatchObject({ code: 1000 });
      await world.dispose();
    },
  );

  test("a program that isn't there is said as a shell would", { timeout: patientMs }, async () => {
    const world = await startPtyWorld({ SAND_KEEPER: keeper });
    const id = await world.spawn(["/no/such/program"]);
    const client = await world.attach(id, "mode=view");
    await client.closed();
    expect(await client.heard("exit")).toMatchObject({ code: 127 });
    await world.dispose();
  });
});

test.skipIf(!hasBubblewrap)(
  "where a sandbox is required and missing, a terminal is refused with what is missing",
  async () => {
    const world = await startPtyWorld({ SAND_SANDBOX: "required", PATH: "/nowhere" });
    const refused = await world.call("POST", "/terminals", {});
    expect(refused).toMatchObject({ status: 412, body: { code: "exec/sandbox-unavailable" } });
    await world.dispose();
  },
);
