/** What a chaos has begun and how it ended: the figures and the verdict on each execution. */
import { fieldOf } from "../../gateway-client.ts";
import type { Findings } from "../proof-result.ts";
import type { DaemonClient } from "./daemon-client.ts";

export interface ExpectedEnd {
  readonly code?: number;
  readonly signal?: string;
  readonly timedOut?: boolean;
}

export interface ChaosLedger {
  readonly findings: Findings;
  readonly counts: Record<string, number>;
  count(what: string): void;
  /** Waits for the execution's end and judges it. */
  settle(processId: string, expected: ExpectedEnd): Promise<void>;
}

const settleMaxMs = 240_000;

export interface ChaosLedgerDeps {
  readonly client: DaemonClient;
  readonly findings: Findings;
  /** daemons killed so far */
  readonly kills: () => number;
}

export function createChaosLedger({ client, findings, kills }: ChaosLedgerDeps): ChaosLedger {
  const counts: Record<string, number> = {};
  const count = (what: string): void => {
    counts[what] = (counts[what] ?? 0) + 1;
  };
  return {
    ...{ findings, counts, count },
    async settle(processId, expected) {
      const killsBefore = kills();
      const endMs = Date.now() + settleMaxMs;
      while (Date.now() < endMs) {
        const reply = await client.insist("Processes/Wait", { processId, waitMs: 2000 });
        const execution = fieldOf(reply.body, "execution");
        const state = fieldOf(execution, "state");
        if (state === "EXECUTION_STATE_EXITED") {
          count("known outcomes");
          judge(processId, fieldOf(execution, "exited"), expected);
          return;
        }
        if (state === "EXECUTION_STATE_UNKNOWN") {
          count("unknown outcomes");
          findings.expect(
            kills() > killsBefore,
            `${processId} is unknown, and no daemon was killed: ${JSON.stringify(execution)}`,
          );
          return;
        }
        if (reply.status !== 200) {
          findings.expect(false, `${processId} was lost: ${JSON.stringify(reply)}`);
          return;
        }
      }
      findings.expect(false, `${processId} has no end`);
    },
  };

  function judge(processId: string, exited: unknown, expected: ExpectedEnd): void {
    // JSON of a message leaves out what has its default value.
    const seen = {
      code: fieldOf(exited, "code"),
      signal: fieldOf(exited, "signal"),
      timedOut: fieldOf(exited, "timedOut") ?? false,
    };
    const isRight =
      seen.timedOut === (expected.timedOut ?? false) &&
      (expected.timedOut === true || (seen.code === expected.code && seen.signal === expected.signal));
    if (!isRight) count("wrong outcomes");
    findings.expect(
      isRight,
      `${processId} ended as ${JSON.stringify(seen)} and not as ${JSON.stringify(expected)}`,
    );
  }
}
