/** Which blobs a request is built from: those that waiting prompts, the open turn and the newest other turns name. */
import { blobsNamedBy, type StoredPart } from "../payload.ts";
import type { Connection } from "../sqlite.ts";

const isNaming = "substr(body, 1, 1) = '@'";

export type BlobsOfTurns = (settledTurns: number) => readonly StoredPart[];

/** Newest first, since not all may be wanted. */
export function blobsOfTurns(connection: Connection): BlobsOfTurns {
  const ofPrompts = connection
    .prepare<unknown[], string>(`SELECT body FROM prompts WHERE turn_id IS NULL AND ${isNaming}`)
    .pluck();
  const ofTurns = connection
    .prepare<unknown[], string>(
      `SELECT body FROM (SELECT turn_id, generation FROM turns ORDER BY generation DESC LIMIT ?)
       JOIN turn_records USING (turn_id) WHERE ${isNaming} ORDER BY generation DESC, ordinal DESC`,
    )
    .pluck();
  // The open turn is the newest.
  return (settledTurns) => [...ofPrompts.all(), ...ofTurns.all(settledTurns + 1)].flatMap(blobsNamedBy);
}
