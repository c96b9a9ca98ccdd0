import { gunzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { createGzipTally, deflateBlock, gzipHeader } from "./shared-gzip.ts";

test("blocks that were compressed once make a valid stream in any order and number", () => {
  const frames = ["a".repeat(5_000), "", "ö\n\n", "a".repeat(5_000)].map((text) => Buffer.from(text));
  const blocks = frames.map(deflateBlock);
  for (const picked of [[0, 1, 2, 3], [3, 3, 0], [2], []]) {
    const tally = createGzipTally();
    const wire: Buffer[] = [gzipHeader];
    const plain: Buffer[] = [];
    for (const index of picked) {
      const [frame, block] = [frames[index] ?? Buffer.alloc(0), blocks[index] ?? Buffer.alloc(0)];
      tally.add(frame);
      wire.push(block);
      plain.push(frame);
    }
    wire.push(tally.trailer());
    expect(gunzipSync(Buffer.concat(wire))).toEqual(Buffer.concat(plain));
  }
});
