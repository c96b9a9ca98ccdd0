/** A cursor between the wire's wide numbers and ours. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Cursor, CursorSchema } from "@sand/protocol/exec";
import type { EventCursor } from "./execution-events.ts";

export function toCursor(after: Cursor | undefined): EventCursor {
  return {
    seq: Number(after?.seq ?? 0),
    stdout: Number(after?.stdout ?? 0),
    stderr: Number(after?.stderr ?? 0),
  };
}

export function fromCursor(cursor: EventCursor): MessageInitShape<typeof CursorSchema> {
  return { seq: BigInt(cursor.seq), stdout: BigInt(cursor.stdout), stderr: BigInt(cursor.stderr) };
}
