/**
 * Writes to a spool until the limit on file sizes cuts a frame in the middle, then goes on, and prints what a reader
 * finds. Run as a process of its own under such a limit.
 */
import { createSpoolReader } from "../src/spool/spool-reader.ts";
import { createSpoolWriter } from "../src/spool/spool-writer.ts";

const folder = process.argv[2] ?? "";
const writer = createSpoolWriter(folder, 2, { segmentMaxBytes: 1_000_000, tailSegmentsMax: 3 });
let lost = 0;
for (let index = 0; index < 5; index += 1) {
  const bytes = Buffer.alloc(3_000, 97 + index);
  try {
    writer.append("stdout", bytes);
  } catch {
    writer.lose("stdout", bytes.length);
    lost += 1;
  }
}
writer.close();
const frames = createSpoolReader(folder)
  .read(2, 1_000_000)
  .map(({ offset, bytes, segment }) => [
    bytes.toString("latin1", 0, 1),
    offset,
    bytes.length,
    segment.stdout,
  ]);
process.stdout.write(JSON.stringify({ lost, frames }));
