/** An import of an archive, killed right before the agent is there. */
import { readdirSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { callOffline, type OfflineCall } from "../packages/store/src/archives/call-door.ts";
import { callGateway } from "../packages/testkit/src/index.ts";
import { archiveFailpoints, createWorld, findBundles } from "../packages/testkit/src/proofs/door.ts";

const bundles = findBundles("test");

test("an import that is killed before its end leaves no agent, and what it staged goes with a later one", {
  timeout: 180_000,
}, async () => {
  await using world = await createWorld({ label: "archives", bundles, sandbox: "off" });
  const { access } = await world.startHost();
  const made = await callGateway(access, "createAgent", { name: "ann", description: "" });
  expect(made).toMatchObject({ kind: "answered", status: 200 });
  const offline = (call: OfflineCall, failpoint = "") => {
    const env = { PATH: process.env.PATH ?? "", HOME: world.folder, SAND_FAILPOINT: failpoint };
    return callOffline({ program: bundles.host, env, cwd: world.workspace }, call);
  };
  const file = join(world.folder, "ann.sand");
  const agents = () => readdirSync(join(world.dataRoot, "agents"));
  const staged = () => readdirSync(join(world.dataRoot, "tmp")).filter((name) => name.startsWith("import-"));
  await offline({ kind: "export-agent", root: world.dataRoot, agent: "ann", file });
  const before = agents();

  const call: OfflineCall = { kind: "import-agent", root: world.dataRoot, file, name: "bea" };
  for (const failpoint of archiveFailpoints)
    await expect(offline(call, failpoint)).rejects.toThrow("ended without an answer");
  expect(agents()).toEqual(before);
  expect(staged()).toHaveLength(1);

  const twoDaysAgo = new Date(Date.now() - 2 * 24 * 3_600_000);
  utimesSync(join(world.dataRoot, "tmp", staged()[0] ?? ""), twoDaysAgo, twoDaysAgo);
  expect(await offline(call)).toMatchObject({ kind: "imported" });
  expect(agents()).toHaveLength(before.length + 1);
  expect(staged()).toEqual([]);
});
