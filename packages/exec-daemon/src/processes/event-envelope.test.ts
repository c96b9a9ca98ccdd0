import { create, toBinary } from "@bufbuild/protobuf";
import { AttachResponseSchema, type Event, EventSchema, Stream } from "@sand/protocol/exec";
import { expect, test } from "vitest";
import { encodeEvent } from "./event-envelope.ts";

function check(event: Event, pieces: number): void {
  const encoded = encodeEvent(event);
  const message = toBinary(AttachResponseSchema, create(AttachResponseSchema, { event }));
  const [flags, length] = [Buffer.of(0), Buffer.alloc(4)];
  length.writeUInt32BE(message.length);
  expect(Buffer.concat(encoded)).toEqual(Buffer.concat([flags, length, message]));
  expect(encoded.length).toBe(pieces);
}

const outputs = [
  ["the first byte", 2n, 0n, Buffer.of(1)],
  ["a whole pipe at a place behind 4 GiB", 2n ** 40n, 2n ** 33n, Buffer.alloc(65_536, 7)],
  ["lengths at which the number grows", 300n, 127n, Buffer.alloc(116, 1)],
] as const;

test.each(outputs)("output is what the generated code makes of it: %s", (_, seq, offset, data) => {
  const value = { stream: Stream.STDERR, offset, data };
  check(create(EventSchema, { seq, kind: { case: "output", value } }), 2);
});

test("any other event is one piece", () => {
  check(create(EventSchema, { seq: 9n, kind: { case: "closed", value: { leftOpen: true } } }), 1);
});

test("output isn't copied", () => {
  const data = Buffer.alloc(10);
  const value = { stream: Stream.STDOUT, offset: 0n, data };
  expect(encodeEvent(create(EventSchema, { seq: 2n, kind: { case: "output", value } }))[1]).toBe(data);
});
