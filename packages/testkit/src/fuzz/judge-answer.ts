/** What an answer to a malformed request may be: typed, soon, without a stack, and never a fault of the server's own. */
import type { Findings } from "../proofs/proof-result.ts";
import type { FuzzRequest } from "./build-request.ts";
import type { FuzzServer } from "./fuzz-target.ts";
import type { RawAnswer } from "./send-request.ts";

/** Above 499 only what says that something isn't built, took too long, or has no room. */
const allowedFaults: Readonly<Record<FuzzServer, readonly number[]>> = {
  gateway: [501],
  daemon: [501],
  terminals: [],
  e2b: [501, 504, 507],
};

const stackLine = /\n\s+at .+[:)]|\bat (?:async )?[\w.<>]+ \(|node:internal|\/src\/[\w/-]+\.ts|\.cjs:\d+/u;

export function judgeAnswer(findings: Findings, request: FuzzRequest, answer: RawAnswer): void {
  const shown = request.bytes
    .toString("latin1")
    .replace(/Bearer \S+/u, "Bearer …")
    .slice(0, 400);
  const status = answer.status ?? 0;
  findings.expect(
    status < 500 || allowedFaults[request.server].includes(status),
    `${request.target} was answered ${answer.text.slice(0, 300)} for ${shown}`,
  );
  findings.expect(
    !stackLine.test(answer.text),
    `${request.target} shows a stack: ${answer.text.slice(0, 600)}`,
  );
  findings.expect(
    !answer.text.includes("exec/internal"),
    `${request.target} ends in a fault of the daemon: ${answer.text.slice(0, 300)} for ${shown}`,
  );
  findings.expect(!answer.timedOut || request.isOpenEnded, `${request.target} is silent for ${shown}`);
  findings.expect(
    answer.status !== undefined || !request.isWellFramed || request.isOpenEnded,
    `${request.target} hung up on a whole request: ${shown}`,
  );
}
