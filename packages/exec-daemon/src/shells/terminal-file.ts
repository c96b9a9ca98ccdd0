/**
 * One background command's file, bounded: when it is full, the middle of the output is left out and the file says how
 * much. A reader finds a whole header at any moment, since the file appears with it and is replaced as a whole when the
 * header changes; in between output is only added at its end.
 */
import { constants } from "node:fs";
import { open, readFile } from "node:fs/promises";
import { writeFileAtomic } from "@sand/node-kit";
import { terminalFileLimits } from "./shell-limits.ts";
import { leftOutNote } from "./terminal-text.ts";

export interface TerminalFile {
  append(output: Uint8Array): Promise<void>;
  /** Says that so much output is nowhere to be had any more. */
  skip(bytes: number): Promise<void>;
  /** Replaces the header and adds the footer. */
  finish(header: string, footer: string): Promise<void>;
}

/** Commands of another account may read it. */
const mode = 0o644;

export async function createTerminalFile(path: string, header: string): Promise<TerminalFile> {
  await writeFileAtomic(path, header, { mode });
  const headerBytes = Buffer.byteLength(header);
  let bodyBytes = 0;
  let leftOut = 0;
  let noteBytes = 0;

  async function append(bytes: Uint8Array): Promise<void> {
    // A link in its place isn't ours.
    const file = await open(path, constants.O_WRONLY | constants.O_APPEND | constants.O_NOFOLLOW);
    try {
      await file.writeFile(bytes);
    } finally {
      await file.close();
    }
    bodyBytes += bytes.length;
    if (headerBytes + bodyBytes > terminalFileLimits.fileMaxBytes) await shrink();
  }

  async function shrink(): Promise<void> {
    const body = (await readFile(path)).subarray(headerBytes);
    const head = body.subarray(0, terminalFileLimits.headMaxBytes);
    const tailBytes = Math.floor(terminalFileLimits.fileMaxBytes / 2) - head.length;
    const tail = body.subarray(body.length - tailBytes);
    leftOut += body.length - head.length - tail.length - noteBytes;
    const note = Buffer.from(leftOutNote(leftOut));
    await writeFileAtomic(path, Buffer.concat([Buffer.from(header), head, note, tail]), { mode });
    bodyBytes = head.length + note.length + tail.length;
    noteBytes = note.length;
  }

  return {
    append,
    skip: (bytes) => append(Buffer.from(leftOutNote(bytes))),
    async finish(lastHeader, footer) {
      const body = (await readFile(path)).subarray(headerBytes);
      await writeFileAtomic(path, Buffer.concat([Buffer.from(lastHeader), body, Buffer.from(footer)]), {
        mode,
      });
    },
  };
}
