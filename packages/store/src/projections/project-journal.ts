/**
 * Brings one agent's journal up to its store, a chunk at a time.
 *
 * 1. The file is made from the records alone, so its bytes are the same whenever and however often they are made.
 * 2. A mark is stored only after its bytes are durable. A file that isn't as it was left is checked against its marks;
 *    from the first place that differs it is compared and made anew: a torn tail, a run of zeros, somebody else's lines
 *    and a write that a full disk cut short all end there.
 */
import { createHash } from "node:crypto";
import { failpoint } from "@sand/node-kit";
import type { AgentId } from "@sand/protocol";
import type { Connection } from "../sqlite.ts";
import { type JournalFile, journalFolder, keepMode, makeJournal, openJournal } from "./journal-file.ts";
import { createJournalMarks, type JournalMark, type JournalMarks } from "./journal-marks.ts";
import type { Progress } from "./project-search.ts";
import { projectionLimits } from "./projection-limits.ts";
import type { RecordPosition, StoreReader } from "./read-store.ts";
import { headLine, transcriptLine } from "./transcript-lines.ts";

/** One agent's journal while it is worked on. */
export interface JournalJob {
  step(): Progress;
  close(): void;
}

export interface JournalJobDeps {
  readonly connection: Connection;
  readonly root: string;
  readonly agentId: AgentId;
  readonly store: StoreReader;
}

export function createJournalJob(deps: JournalJobDeps): JournalJob {
  const { root, agentId, store } = deps;
  const marks = createJournalMarks(deps.connection);
  let file: JournalFile | undefined = openJournal(root, agentId);
  /** where the check of the marks goes on; nothing once they are known to be right */
  let unchecked = firstUnchecked(marks, agentId, store, file);

  function check(from: number): Progress {
    const { next, bad } = checkMarks(marks.from(agentId, from, marksPerCheck), file);
    if (bad !== undefined) marks.dropFrom(agentId, bad);
    unchecked = bad === undefined ? next : undefined;
    return "more";
  }

  function put(made: readonly JournalMark[], through: number): void {
    const storeFile = store.storeFile;
    marks.put(agentId, made, { storeFile, file: file?.identity() ?? "", through });
  }

  /** What is behind the last line isn't ours. */
  function finish(end: number, through: number): Progress {
    const known = marks.known(agentId);
    if (file !== undefined) {
      if (file.sizeBytes() > end) file.truncate(end);
      keepMode(journalFolder(root, agentId));
    }
    const identity = file?.identity() ?? "";
    const isSame =
      known?.storeFile === store.storeFile && known.file === identity && known.through === through;
    if (!isSame) put([], through);
    return "done";
  }

  function write(): Progress {
    const last = trustedLast(marks, agentId, file);
    const { pieces, end, through } = store.within(() => nextPieces(store, last));
    if (pieces.length === 0) return finish(end, through);
    file ??= makeJournal(root, agentId);
    const bytes = Buffer.concat(pieces.map((piece) => piece.bytes));
    if (file.read(end, bytes.length).equals(bytes)) file.sync();
    else file.write(end, bytes);
    failpoint("projection.journal.written");
    put(
      pieces.map((piece) => markOf(piece, file)),
      marks.known(agentId)?.through ?? 0,
    );
    return "more";
  }

  return {
    step: () => (unchecked === undefined ? write() : check(unchecked)),
    close: () => file?.close(),
  };
}

/** marks of one chunk of a check */
const marksPerCheck = Math.floor(projectionLimits.verifyMaxBytes / projectionLimits.markMaxBytes);

/** Nothing to check when the file is as it was left; no mark counts when it was made from another store. */
function firstUnchecked(
  marks: JournalMarks,
  agentId: AgentId,
  store: StoreReader,
  file: JournalFile | undefined,
): number | undefined {
  const known = marks.known(agentId);
  if (known === undefined || known.storeFile !== store.storeFile) {
    marks.dropFrom(agentId, 0);
    return undefined;
  }
  return known.file === (file?.identity() ?? "") ? undefined : 0;
}

/** `bad`: the first mark whose bytes aren't there. `next`: where the check goes on, if it isn't at its end. */
function checkMarks(
  marks: readonly JournalMark[],
  file: JournalFile | undefined,
): { readonly next: number | undefined; readonly bad: number | undefined } {
  for (const mark of marks) if (!isThere(mark, file)) return { next: undefined, bad: mark.begins };
  const last = marks.at(-1);
  return { next: last === undefined ? undefined : last.begins + last.bytes, bad: undefined };
}

function isThere(mark: JournalMark, file: JournalFile | undefined): boolean {
  return file !== undefined && digestOf(file.read(mark.begins, mark.bytes)) === mark.digest;
}

/** The last mark is read again before it grows: it would vouch for bytes that nobody looked at. */
function trustedLast(
  marks: JournalMarks,
  agentId: AgentId,
  file: JournalFile | undefined,
): JournalMark | undefined {
  for (;;) {
    const last = marks.last(agentId);
    if (last === undefined || isThere(last, file)) return last;
    marks.dropFrom(agentId, last.begins);
  }
}

/** Lines that follow each other, and the mark that they belong to. */
interface Piece extends RecordPosition {
  readonly at: number;
  readonly bytes: Buffer;
  /** where its mark begins: at the piece, or before it when the mark grows */
  readonly begins: number;
}

interface NextPieces {
  readonly pieces: readonly Piece[];
  /** where the first of them begins, and the journal ends when there is none */
  readonly end: number;
  readonly through: number;
}

/** The lines behind `last`, as many as one chunk takes, in pieces that a mark can hold. */
function nextPieces(store: StoreReader, last: JournalMark | undefined): NextPieces {
  const end = last === undefined ? 0 : last.begins + last.bytes;
  const through = store.lastSeq();
  const pieces: Piece[] = [];
  const grows = last !== undefined && last.bytes < projectionLimits.markMaxBytes;
  let begins = grows ? last.begins : end;
  let at = end;
  let text = last === undefined ? headLine : "";
  let isEmpty = true;
  let position: RecordPosition = last ?? { generation: 0, ordinal: -1 };
  let chars = 0;

  function cut(): void {
    const bytes = Buffer.from(text, "utf8");
    pieces.push({ at, bytes, begins, ...position });
    at += bytes.length;
    begins = at;
    text = "";
  }

  for (const { turnId, generation, ordinal, record } of store.recordsAfter(position)) {
    const toolName = (callId: string): string => store.toolName(turnId, ordinal, callId);
    const line = transcriptLine({ generation, record, toolName });
    position = { generation, ordinal };
    if (line === "") continue;
    text += line;
    chars += line.length;
    isEmpty = false;
    if (at - begins + text.length >= projectionLimits.markMaxBytes) cut();
    if (chars >= projectionLimits.chunkMaxChars) break;
  }
  if (text !== "" && !isEmpty) cut();
  return { pieces, end, through };
}

function markOf(piece: Piece, file: JournalFile | undefined): JournalMark {
  const { at, begins, generation, ordinal } = piece;
  const before = at === begins || file === undefined ? Buffer.alloc(0) : file.read(begins, at - begins);
  const digest = digestOf(before, piece.bytes);
  return { begins, bytes: at - begins + piece.bytes.length, digest, generation, ordinal };
}

function digestOf(...parts: readonly Buffer[]): string {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest("hex");
}
