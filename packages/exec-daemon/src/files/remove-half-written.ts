/**
 * Removes what a write left beside its file when the daemon died in the middle of it: the temporary copy that was never
 * renamed. Only writes that the journal knows as unfinished are looked after, and only names that such a write makes.
 */
import { readdirSync, realpathSync, rmSync } from "node:fs";
import { basename, dirname } from "node:path";
import { isTemporaryOf, type Logger } from "@sand/node-kit";
import { bytesOf, joinRaw, rawOfText } from "./raw-path.ts";
import type { StoredWriteJournal } from "./write-journal.ts";

export function removeHalfWritten(journal: StoredWriteJournal, log: Logger): void {
  for (const path of new Set(journal.unfinished().map((intent) => intent.path))) {
    try {
      const folder = dirname(path);
      // A folder that is a link by now isn't the one that was written to.
      if (realpathSync(folder) !== folder) continue;
      for (const name of readdirSync(folder, { encoding: "latin1" })) {
        if (!isTemporaryOf(rawOfText(basename(path)), name)) continue;
        rmSync(bytesOf(joinRaw(rawOfText(folder), name)), { force: true });
      }
    } catch (error) {
      // The folder may be gone by now; what can't be cleaned must not keep the daemon from starting.
      log.debug({ event: "file.left-over", err: error }, "a half-written file could not be looked for");
    }
  }
}
