/** Writes a spool of many small segments without a pause, for a reader that follows it meanwhile. */
import { createSpoolWriter } from "../src/spool/spool-writer.ts";

const [folder = "", frames = "0"] = process.argv.slice(2);
const writer = createSpoolWriter(folder, 2, { segmentMaxBytes: 300, tailSegmentsMax: 1_000_000 });
for (let index = 0; index < Number(frames); index += 1) writer.append("stdout", Buffer.alloc(100, index));
writer.close();
