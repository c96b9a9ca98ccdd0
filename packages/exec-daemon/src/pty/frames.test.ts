import { expect, test } from "vitest";
import { clampSize, parseFrame, replayFrame } from "./frames.ts";

const invalid = expect.objectContaining({ code: "exec/invalid" });
const control = (value: unknown) => parseFrame(Buffer.from(JSON.stringify(value)), false);

test("a binary frame on channel 0 is input, byte for byte", () => {
  const bytes = Buffer.from([0, 0xff, 0x00, 0x1b]);
  expect(parseFrame(bytes, true)).toEqual({ type: "stdin", bytes: Buffer.from([0xff, 0x00, 0x1b]) });
});

test.each([[Buffer.alloc(0)], [Buffer.from([1, 65])], [Buffer.from([200])]])(
  "a binary frame without a client's channel is refused: %j",
  (bytes) => {
    expect(() => parseFrame(bytes, true)).toThrow(invalid);
  },
);

test("each control message is read with its fields", () => {
  expect(control({ type: "resize", cols: 80, rows: 24 })).toEqual({ type: "resize", cols: 80, rows: 24 });
  expect(control({ type: "signal", name: "INT" })).toEqual({ type: "signal", name: "SIGINT" });
  expect(control({ type: "ack", offset: 5000 })).toEqual({ type: "ack", offset: 5000 });
  expect(control({ type: "ping" })).toEqual({ type: "ping", nonce: "" });
  expect(control({ type: "lease", action: "take" })).toEqual({ type: "lease", action: "take" });
  expect(control({ type: "auth", token: "t" })).toEqual({ type: "auth", token: "t" });
});

test.each([
  ["{", "[]", "null", '"x"', "7", "{}"],
  ['{"type":"__proto__"}', '{"type":"toString"}', '{"type":"resize","cols":-1,"rows":2}'],
  ['{"type":"resize","cols":"80","rows":24}', '{"type":"ack","offset":1.5}', '{"type":"ack","offset":1e300}'],
  ['{"type":"signal","name":"SEGV"}', '{"type":"signal"}', '{"type":"lease","action":"steal"}'],
])("a text frame that means nothing is refused: %s …", (...texts) => {
  for (const one of texts) expect(() => parseFrame(Buffer.from(one), false)).toThrow(invalid);
});

test("a replay frame carries the offset of its first byte", () => {
  const frame = replayFrame(2 ** 40 + 7, Buffer.from("x"));
  expect([frame[0], frame.readBigUInt64BE(1), frame.subarray(9).toString()]).toEqual([
    3,
    2n ** 40n + 7n,
    "x",
  ]);
});

test("a size of nothing is ignored, and a huge one is cut to the limit", () => {
  expect(clampSize({ cols: 0, rows: 24 })).toBeUndefined();
  expect(clampSize({ cols: 1, rows: 5000 })).toEqual({ cols: 1, rows: 1000 });
});
