/** What happens to a host while its snapshots are taken: prompts come in, and the process that takes them is killed. */
import { setTimeout as delay } from "node:timers/promises";
import { callGateway, findProcessesOf } from "../../../packages/testkit/src/index.ts";

export function startLoad(access, agents) {
  const acknowledged = [];
  let isOver = false;
  let sent = 0;
  const work = async (agentId) => {
    while (!isOver) {
      sent += 1;
      const clientNonce = `load-${sent}`;
      const body = {
        agentId,
        prompt: `script:say hello ${"word ".repeat(40)}`,
        clientNonce,
        whenBusy: "steer",
      };
      const reply = await callGateway(access, "sendPrompt", body);
      if (reply.kind === "answered" && reply.status === 200) acknowledged.push(clientNonce);
      await delay(20);
    }
  };
  const workers = agents.map(work);
  return {
    acknowledged,
    async end() {
      isOver = true;
      await Promise.all(workers);
      return acknowledged.length;
    },
  };
}

/** As `callGateway`, with the patience that a busy machine asks for. */
export async function askForSnapshot({ url, token }) {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const signal = AbortSignal.timeout(300_000);
  const answer = await fetch(`${url}/api/snapshotBoxStoreNow`, {
    method: "POST",
    headers,
    body: "{}",
    signal,
  });
  return { kind: "answered", status: answer.status, body: await answer.json() };
}

/** Waits for the process to be there, and then for a moment of its life. */
export async function killRole(folder, random) {
  for (let tries = 0; tries < 500; tries += 1) {
    const role = findProcessesOf(folder).find(({ command }) => /host-main\.cjs box-store$/u.test(command));
    if (role === undefined) {
      await delay(2);
      continue;
    }
    await delay(random.whole(0, 600));
    try {
      process.kill(role.pid, "SIGKILL");
      return 1;
    } catch {
      // It had ended by itself.
      return 0;
    }
  }
  return 0;
}
