/** The role `recovery`, a worker thread of the host: it repairs one store and ends. */
import { parentPort, workerData } from "node:worker_threads";
import { armFailpoints } from "@sand/node-kit";
import { BoxError } from "@sand/protocol";
import { prepareSqlite } from "../load-sqlite.ts";
import { recoverAgentStore } from "./recover-agent-store.ts";
import type { RecoveryReply, RecoveryRoleData } from "./recovery-thread.ts";

export async function runRecoveryRole(): Promise<void> {
  const port = parentPort;
  if (port === null) throw new Error("the role `recovery` belongs into a worker thread");
  // Made by the host's own thread only.
  const data = workerData as RecoveryRoleData;
  armFailpoints(data.failpoint);
  prepareSqlite({ nativesFolder: data.nativesFolder });
  port.postMessage(repair(data));
  await Promise.resolve(port.close());
}

function repair({ options }: RecoveryRoleData): RecoveryReply {
  try {
    return { ok: true, report: recoverAgentStore(options) };
  } catch (error) {
    if (!(error instanceof BoxError)) throw error;
    return { ok: false, code: error.code, message: error.message, hint: error.hint };
  }
}
