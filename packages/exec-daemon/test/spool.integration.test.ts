import { execFileSync, spawn } from "node:child_process";
import { appendFileSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { encodeFrameHeader, segmentName } from "../src/spool/frame.ts";
import { createSpoolReader } from "../src/spool/spool-reader.ts";
import { createSpoolWriter } from "../src/spool/spool-writer.ts";

const bounds = { segmentMaxBytes: 1000, tailSegmentsMax: 3 };
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sand-spool-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test("a reader follows the writer piece by piece over both streams", () => {
  const writer = createSpoolWriter(folder, 2, bounds);
  const reader = createSpoolReader(folder);
  expect(reader.read(2, 100)).toEqual([]);
  writer.append("stdout", Buffer.from("one"));
  writer.append("stderr", Buffer.from("two"));
  expect(
    reader.read(2, 1000).map(({ seq, stream, offset, bytes }) => [seq, stream, offset, bytes.toString()]),
  ).toEqual([
    [2, "stdout", 0, "one"],
    [3, "stderr", 0, "two"],
  ]);
  writer.append("stdout", Buffer.from("three"));
  expect(reader.read(4, 1000).map(({ offset, bytes }) => [offset, bytes.toString()])).toEqual([[3, "three"]]);
  writer.close();
});

test("a reader at the heels of the writer misses no frame where one segment ends and the next begins", async () => {
  const last = 3_001;
  const program = join(import.meta.dirname, "grow-spool.ts");
  const child = spawn(process.execPath, [program, folder, String(last - 1)], { stdio: "inherit" });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  const reader = createSpoolReader(folder);
  let nextSeq = 2;
  while (nextSeq <= last && child.exitCode === null) {
    for (const { seq } of reader.read(nextSeq, 10_000)) {
      expect(seq).toBe(nextSeq);
      nextSeq += 1;
    }
    await nextTurn();
  }
  expect(await ended).toBe(0);
}, 60_000);

test("the first segment and the newest stay, and what follows a hole says where the streams stood", () => {
  const writer = createSpoolWriter(folder, 2, bounds);
  for (let index = 0; index < 100; index += 1) writer.append("stdout", Buffer.alloc(100, index));
  writer.close();
  expect(readdirSync(folder)).toHaveLength(4);
  const frames = createSpoolReader(folder).read(2, 1_000_000);
  const hole = frames.findIndex(
    (frame, index) => index > 0 && frame.seq !== (frames[index - 1]?.seq ?? 0) + 1,
  );
  expect(frames[hole]?.segment.stdout).toBe(frames[hole]?.offset);
  expect(frames.at(-1)).toMatchObject({ seq: 101, offset: 9900 });
});

test("a frame that was cut short doesn't count", () => {
  const writer = createSpoolWriter(folder, 2, bounds);
  writer.append("stdout", Buffer.from("whole"));
  writer.close();
  const cut = Buffer.concat([
    encodeFrameHeader({ length: 50, stream: "stdout", seq: 3, offset: 5 }),
    Buffer.from("half"),
  ]);
  appendFileSync(join(folder, segmentName(0)), cut);
  expect(
    createSpoolReader(folder)
      .read(2, 1000)
      .map((frame) => frame.seq),
  ).toEqual([2]);
});

test("a reader whose segment was dropped goes on with what is left", () => {
  const writer = createSpoolWriter(folder, 2, bounds);
  for (let index = 0; index < 20; index += 1) writer.append("stdout", Buffer.alloc(100, index));
  const reader = createSpoolReader(folder);
  const first = reader.read(2, 1200);
  for (let index = 20; index < 80; index += 1) writer.append("stdout", Buffer.alloc(100, index));
  const rest = reader.read((first.at(-1)?.seq ?? 0) + 1, 1_000_000);
  expect(rest[0]?.seq).toBeGreaterThan((first.at(-1)?.seq ?? 0) + 1);
  expect(rest.at(-1)?.seq).toBe(81);
  writer.close();
});

test("a write that the disk cuts short loses that piece only", () => {
  // Files may have 8 KiB, so the third piece of 3,000 bytes is cut.
  const script = 'ulimit -S -f 8; exec "$0" "$1" "$2"';
  const program = join(import.meta.dirname, "fill-spool.ts");
  const said = execFileSync("bash", ["-c", script, process.execPath, program, folder], { encoding: "utf8" });
  expect(JSON.parse(said)).toEqual({
    lost: 1,
    frames: [
      ["a", 0, 3_000, 0],
      ["b", 3_000, 3_000, 0],
      ["d", 9_000, 3_000, 9_000],
      ["e", 12_000, 3_000, 9_000],
    ],
  });
});
