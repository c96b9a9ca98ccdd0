/** Runs one repair on a thread of its own, from the file that also plays its role. */
import { Worker } from "node:worker_threads";
import { BoxError, type ErrorCode } from "@sand/protocol";
import { nativesFolderOf } from "../load-sqlite.ts";
import type { RecoverOptions } from "./recover-agent-store.ts";
import type { RecoveryReport } from "./recovery-report.ts";

export interface RecoveryRoleData {
  readonly role: "recovery";
  readonly nativesFolder: string;
  readonly failpoint: string | undefined;
  readonly options: RecoverOptions;
}

export type RecoveryReply =
  | { readonly ok: true; readonly report: RecoveryReport }
  | {
      readonly ok: false;
      readonly code: ErrorCode;
      readonly message: string;
      readonly hint: string | undefined;
    };

export interface RecoveryThreadDeps {
  /** the program that plays the role */
  readonly entry: string;
  /** the data root */
  readonly root: string;
  readonly failpoint?: string;
}

/** for a thread's objects: a store's rows are in memory once */
const heapMaxMb = 4_096;

export function repairOnThread(deps: RecoveryThreadDeps, options: RecoverOptions): Promise<RecoveryReport> {
  const workerData: RecoveryRoleData = {
    role: "recovery",
    nativesFolder: nativesFolderOf(deps.root),
    failpoint: deps.failpoint,
    options,
  };
  const { promise, resolve, reject } = Promise.withResolvers<RecoveryReport>();
  const worker = new Worker(deps.entry, {
    ...{ name: "recovery", argv: ["recovery"], execArgv: [], env: {}, workerData },
    resourceLimits: { maxOldGenerationSizeMb: heapMaxMb },
  });
  worker.once("message", (reply: RecoveryReply) => {
    if (reply.ok) resolve(reply.report);
    else reject(errorOf(reply));
  });
  worker.once("error", reject);
  worker.once("exit", (code) => reject(new Error(`the repair ended with ${code} and no result`)));
  return promise;
}

function errorOf({ code, message, hint }: Extract<RecoveryReply, { ok: false }>): BoxError {
  return new BoxError(code, message, hint === undefined ? {} : { hint });
}
