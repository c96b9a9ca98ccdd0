/** Session shells where commands are kept or enclosed in another way than the plainest one. */
import { chmodSync, chownSync } from "node:fs";
import { afterEach, expect, test, vi } from "vitest";
import { type ShellsWorld, startShellsWorld } from "./shells-world.ts";

// Daemons that probe a sandbox first, on a machine that may be busy.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const nobody = 65_534;
const isRoot = process.getuid?.() === 0;

let world: ShellsWorld | undefined;
afterEach(async () => {
  await world?.daemon.dispose();
  world = undefined;
});

const places: readonly (readonly [string, Record<string, string>])[] = [
  ["kept by a Node process", { SAND_KEEPER: "node" }],
  ["in a sandbox", { SAND_SANDBOX: "required" }],
  ["in a sandbox, kept by a Node process", { SAND_SANDBOX: "required", SAND_KEEPER: "node" }],
  ...(isRoot
    ? ([
        ["as another account", { SAND_BOX_COMMAND_UID: String(nobody) }],
        [
          "as another account, kept by a Node process",
          { SAND_BOX_COMMAND_UID: String(nobody), SAND_KEEPER: "node" },
        ],
      ] as const)
    : []),
];

test.each(places)("a session keeps its state %s", async (_name, env) => {
  world = await startShellsWorld(env);
  chmodSync(world.daemon.folder, 0o711);
  if (env.SAND_BOX_COMMAND_UID !== undefined) chownSync(world.daemon.workspace, nobody, nobody);
  const id = await world.create();
  await world.daemon.control.refreshEnvironment({ set: { FROM_BOX: "one" } });
  await world.run(
    id,
    "mkdir sub; cd sub; export A=1; f() { echo f-$1; }; alias l='echo alias'; export FROM_BOX=forged",
  );
  const ran = await world.run(id, 'f x; l; echo "$A ${PWD##*/} $FROM_BOX"; read line; exit 3', {
    conversationEnv: { C: "1" },
  });
  expect(ran).toMatchObject({ stdout: "f-x\nalias\n1 sub one\n", stderr: "", exited: { code: 3 } });
  expect(ran.session.last).toMatchObject({ stateKept: true });
  await world.shells.run({ sessionId: id, processId: "bg", command: "sleep 1006", background: true });
  expect((await world.shells.end({ sessionId: id })).endedProcessIds).toEqual(["bg"]);
  const { execution } = await world.daemon.processes.wait({ processId: "bg", waitMs: 20_000 });
  expect(execution?.closed).toBe(true);
});
