/** Which blobs a request is built from: those that waiting prompts, the open turn and the newest other turns name. */
import { blobsNamedBy } from "../payload.ts";
import type { Connection } from "../sqlite.ts";

const isNaming = "substr(body, 1, 1) = '@'";

export function blobsOfTurns(connection: Connection): (settledTurns: number) => readonly string[] {
  const ofPrompts = connection
    .prepare<unknown[], string>(`SELECT body FROM prompts WHERE turn_id IS NULL AND ${isNaming}`)
    .pluck();
  const ofTurns = connection
    .prepare<unknown[], string>(
      `SELECT body FROM turn_records WHERE ${isNaming} AND turn_id IN (
         SELECT turn_id FROM turns ORDER BY generation DESC LIMIT ?)`,
    )
    .pluck();
  // The open turn is the newest.
  return (settledTurns) => [...ofPrompts.all(), ...ofTurns.all(settledTurns + 1)].flatMap(blobsNamedBy);
}
