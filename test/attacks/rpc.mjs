/**
 * As little of a client as an attack needs: JSON calls to the daemon on loopback, without any package, so that it runs
 * in a container too.
 */
import { randomUUID } from "node:crypto";

const callMaxMs = 60_000;
const runMaxMs = 20_000;
const pagesMax = 50;

/** @param {{port: number, token: string}} daemon */
export function createClient(daemon) {
  async function call(method, body) {
    const reply = await fetch(`http://127.0.0.1:${daemon.port}/exec.v1.${method}`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${daemon.token}` },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(callMaxMs),
    });
    const answer = await reply.json();
    if (!reply.ok) throw new Error(`${method}: ${answer.code} ${answer.message}`);
    return answer;
  }

  async function start(script, sandbox = {}) {
    const processId = randomUUID();
    const body = { processId, shell: script, sandbox, killMs: String(runMaxMs) };
    const answer = await call("Processes/Start", body);
    return { processId, pid: answer.execution?.pid ?? 0 };
  }

  /** Runs a script to its end and gives back what it wrote, both streams together. */
  async function run(script, sandbox) {
    const { processId } = await start(script, sandbox);
    await call("Processes/Wait", { processId, waitMs: runMaxMs + 5000 });
    let [text, after] = ["", {}];
    for (let page = 0; page < pagesMax; page += 1) {
      const answer = await call("Processes/Read", { processId, after, waitMs: 1000, maxBytes: 262_144 });
      for (const { output } of answer.events ?? []) {
        if (output !== undefined) text += Buffer.from(output.data ?? "", "base64").toString("latin1");
      }
      after = answer.cursor ?? after;
      if (answer.ended === true) break;
    }
    return text;
  }

  return { call, start, run };
}
