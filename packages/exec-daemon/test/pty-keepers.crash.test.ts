/** Row 33: what holds a terminal dies by SIGKILL. It is told for that terminal, and the others don't notice. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseExecDiscovery } from "@sand/protocol/exec";
import { expect, test } from "vitest";
import { startTestDaemon, token, until } from "./daemon-process.ts";
import { connect } from "./pty-world.ts";
import { hasShim } from "./shim-world.ts";

function parentOf(pid: number): number {
  return Number(/^PPid:\s+(\d+)$/mu.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
}

test.skipIf(!hasShim)(
  "row 33: a terminal whose keeper dies ends for its clients, nothing of it runs on, and the others live",
  async () => {
    const daemon = await startTestDaemon({ SAND_KEEPER: "shim" });
    const discovery = parseExecDiscovery(readFileSync(join(daemon.dataRoot, "exec-daemon.json"), "utf8"));
    const base = `127.0.0.1:${discovery?.ptyPort}/terminals`;
    const attachTo = async (id: string, script: string) => {
      const response = await fetch(`http://${base}`, {
        ...{ method: "POST", headers: { authorization: `Bearer ${token}` } },
        body: JSON.stringify({ id, argv: ["/bin/sh", "-c", script] }),
      });
      expect(response.status).toBe(201);
      return await connect(`ws://${base}/${id}/attach?since=0`);
    };
    const client = await attachTo("lost", "sleep 7531 & echo pids=$$:$!; exec cat");
    const steady = await attachTo("steady", "exec cat");
    const [, leader, child] = await client.saw(/pids=(\d+):(\d+)/u);
    const keeper = parentOf(Number(leader));
    expect(readFileSync(`/proc/${keeper}/cmdline`, "latin1")).toContain("sand-shim");
    process.kill(keeper, "SIGKILL");
    expect(await client.closed()).toMatchObject({ code: 1000 });
    // Nobody knows how it ended, so neither a code nor a signal is made up.
    expect(await client.heard("exit")).toEqual({ type: "exit", code: null, signal: null });
    await until("nothing of it runs", () =>
      [leader, child].every((pid) => !existsSync(`/proc/${pid}`)) ? true : undefined,
    );
    steady.type("still here\n");
    await steady.saw(/still here\r\nstill here/u);
    const next = await attachTo("next", "echo another; exit 3");
    await next.closed();
    expect([next.text(), await next.heard("exit")]).toMatchObject(["another\r\n", { code: 3 }]);
    await steady.close();
    await daemon.dispose();
  },
);
