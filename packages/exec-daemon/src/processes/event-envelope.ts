/**
 * One event as it goes over the wire of an attach: an envelope of Connect's with an `AttachResponse` in it. The bytes
 * are those that the generated code would make; but output is handed on where it lies, in a piece of its own, and not
 * copied from one buffer to the next for each layer around it.
 */
import { create, toBinary } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { AttachResponseSchema, type Event, type Output } from "@sand/protocol/exec";

const prefixBytes = 5;
/** the fields on the way from the message to the output's bytes, as in `processes.proto` */
const fields = { event: 1, seq: 1, output: 3, stream: 1, offset: 2, data: 3 } as const;

export function encodeEnvelope(flags: number, message: Uint8Array): Buffer {
  return Buffer.concat([prefix(flags, message.length), message]);
}

/** Two pieces for output, one for anything else. */
export function encodeEvent(event: Event): readonly Uint8Array[] {
  if (event.kind.case !== "output")
    return [encodeEnvelope(0, toBinary(AttachResponseSchema, create(AttachResponseSchema, { event })))];
  return [encodeOutputHead(event.seq, event.kind.value), event.kind.value.data];
}

/** From the inside out, since each length is in front of what it counts; a writer is empty again when it has finished. */
function encodeOutputHead(seq: bigint, { stream, offset, data }: Output): Buffer {
  const writer = new BinaryWriter();
  if (stream !== 0) writer.tag(fields.stream, WireType.Varint).int32(stream);
  if (offset !== 0n) writer.tag(fields.offset, WireType.Varint).uint64(offset);
  const output = writer.tag(fields.data, WireType.LengthDelimited).uint32(data.length).finish();
  const outputBytes = output.length + data.length;
  writer.tag(fields.seq, WireType.Varint).uint64(seq);
  const event = writer.tag(fields.output, WireType.LengthDelimited).uint32(outputBytes).finish();
  const eventBytes = event.length + outputBytes;
  const head = writer.tag(fields.event, WireType.LengthDelimited).uint32(eventBytes).finish();
  return Buffer.concat([prefix(0, head.length + eventBytes), head, event, output]);
}

function prefix(flags: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(prefixBytes);
  bytes.writeUInt8(flags, 0);
  bytes.writeUInt32BE(length, 1);
  return bytes;
}
