/** Puts a session's record into the words of the wire. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ShellSessionSchema } from "@sand/protocol/exec-shells";
import type { SessionRecord } from "./session-record.ts";
import { variableNames } from "./shell-state.ts";

export function toSession(
  session: SessionRecord,
  runningProcessId: string | undefined,
): MessageInitShape<typeof ShellSessionSchema> {
  const { sessionId, shell, createdAtMs, lineage, last, state } = session;
  return {
    ...{ sessionId, shell, lineage },
    cwd: readBytes(state?.cwd ?? session.cwd),
    runningProcessId: runningProcessId ?? "",
    ...(last === undefined ? {} : { last }),
    createdAtMs: BigInt(createdAtMs),
    variableNames: [...variableNames(state)],
  };
}

/** What a shell's state holds is bytes. */
export function readBytes(latin1: string): string {
  return Buffer.from(latin1, "latin1").toString("utf8");
}
