/**
 * Reads a log that others write: its last lines, then what is added. It holds the file open, so that what was written
 * before a rotation is read to its end, and looks by inode and size for a new file under the name.
 */
import { closeSync, fstatSync, openSync, readSync, statSync } from "node:fs";
import { StringDecoder } from "node:string_decoder";

export interface LogReader extends Disposable {
  /** the last lines of the file as it is; none when there is no file. Comes first, and once. */
  last(count: number): readonly string[];
  /** the lines that were completed since, those of a new file too */
  more(): readonly string[];
}

const blockBytes = 64 * 1024;
/** how far back the last lines are looked for */
const tailMaxBytes = 16 * 1024 * 1024;
/** read at one call; what is left comes with the next */
const readMaxBytes = tailMaxBytes;
const lineMaxChars = 256 * 1024;

interface OpenLog {
  readonly fd: number;
  readonly inode: number;
  position: number;
  readonly decoder: StringDecoder;
  /** a line whose end isn't written yet */
  rest: string;
}

export function createLogReader(path: string): LogReader {
  let log: OpenLog | undefined;

  const close = (): void => {
    if (log !== undefined) closeSync(log.fd);
    log = undefined;
  };
  const readOn = (): readonly string[] => (log === undefined ? [] : readAdded(log));

  return {
    last: (count) => {
      log = openLog(path);
      if (log === undefined) return [];
      log.position = findTail(log.fd, count);
      return readOn().slice(-count);
    },
    more: () => {
      const lines = [...readOn()];
      const present = statSync(path, { throwIfNoEntry: false });
      if (present !== undefined && log?.inode !== present.ino) {
        if (log !== undefined && log.rest !== "") lines.push(log.rest);
        close();
        log = openLog(path);
        lines.push(...readOn());
      }
      return lines;
    },
    [Symbol.dispose]: close,
  };
}

function openLog(path: string): OpenLog | undefined {
  try {
    const fd = openSync(path, "r");
    return { fd, inode: fstatSync(fd).ino, position: 0, decoder: new StringDecoder("utf8"), rest: "" };
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}

function readAdded(log: OpenLog): readonly string[] {
  const { size } = fstatSync(log.fd);
  // Written anew from the beginning, by a program that keeps only its latest run.
  if (size < log.position) {
    log.position = 0;
    log.rest = "";
  }
  const untilByte = Math.min(size, log.position + readMaxBytes);
  const block = Buffer.alloc(blockBytes);
  const lines: string[] = [];
  while (log.position < untilByte) {
    const bytes = readSync(log.fd, block, 0, Math.min(blockBytes, untilByte - log.position), log.position);
    if (bytes === 0) break;
    log.position += bytes;
    const pieces = (log.rest + log.decoder.write(block.subarray(0, bytes))).split("\n");
    log.rest = (pieces.pop() ?? "").slice(0, lineMaxChars);
    for (const line of pieces) lines.push(line.slice(0, lineMaxChars));
  }
  return lines.filter((line) => line !== "");
}

/** Where the last `count` lines begin. */
function findTail(fd: number, count: number): number {
  const { size } = fstatSync(fd);
  const block = Buffer.alloc(blockBytes);
  // The line break at the very end closes the last line, and begins none.
  let wanted = count + 1;
  for (let end = size; end > Math.max(0, size - tailMaxBytes); ) {
    const start = Math.max(0, end - blockBytes);
    const bytes = readSync(fd, block, 0, end - start, start);
    for (let at = bytes - 1; at >= 0; at -= 1) {
      if (block[at] !== 0x0a) continue;
      wanted -= 1;
      if (wanted === 0) return start + at + 1;
    }
    end = start;
  }
  return Math.max(0, size - tailMaxBytes);
}
