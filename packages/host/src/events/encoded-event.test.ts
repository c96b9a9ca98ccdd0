import { limits } from "@sand/protocol";
import { expect, test } from "vitest";
import { encodeEvent } from "./encoded-event.ts";

const strict = { withId: false, slim: false, gzip: false };
const resuming = { ...strict, withId: true };

test("a strict frame is one data line of JSON with LF only, and no id", () => {
  const frame = encodeEvent({ seq: 7, channel: "transcript", payload: { text: "a\r\nb" } }).frame(strict);
  expect(frame?.plain.toString()).toBe('data: {"channel":"transcript","payload":{"text":"a\\r\\nb"}}\n\n');
});

test("a resuming stream gets the seq of a committed event, and none for a transient one", () => {
  const committed = encodeEvent({ seq: 7, channel: "agents", payload: {} }).frame(resuming);
  const transient = encodeEvent({ seq: null, channel: "agents", payload: {} }).frame(resuming);
  expect(committed?.plain.toString()).toBe('id: 7\ndata: {"channel":"agents","payload":{}}\n\n');
  expect(transient?.plain.toString()).toBe('data: {"channel":"agents","payload":{}}\n\n');
});

test("all clients of one variant share the same bytes", () => {
  const event = encodeEvent({ seq: 1, channel: "agents", payload: {} });
  expect(event.frame(resuming)?.wire).toBe(event.frame(resuming)?.wire);
});

test("a slim stream gets summaries without pictures, and nothing else changes", () => {
  const agent = { id: "a", avatarDataUrl: "data:image/png;base64,AAAA" };
  const payload = { agents: [agent], activeAgentId: "a" };
  const frame = encodeEvent({ seq: 1, channel: "agents", payload }).frame({ ...strict, slim: true });
  expect(frame?.plain.toString()).toBe(
    'data: {"channel":"agents","payload":{"agents":[{"id":"a","avatarDataUrl":null}],"activeAgentId":"a"}}\n\n',
  );
});

test("an event that is too large for a frame becomes a reset for who resumes, and nothing for a strict client", () => {
  const event = encodeEvent({
    seq: 3,
    channel: "transcript",
    payload: { text: "x".repeat(limits.eventFrameMaxBytes) },
  });
  expect(event.frame(strict)).toBeUndefined();
  expect(event.frame(resuming)?.plain.toString()).toBe(
    'id: 3\ndata: {"channel":"reset","payload":{"reason":"too-large","lastSeq":3}}\n\n',
  );
});

test("an event's bytes are a memory of their own, not a slice of a larger one that it would keep", () => {
  const frame = encodeEvent({ seq: 1, channel: "c", payload: { text: "é" } }).frame({
    withId: false,
    slim: false,
    gzip: false,
  });
  expect(frame?.plain.toString()).toBe('data: {"channel":"c","payload":{"text":"é"}}\n\n');
  expect(frame?.plain.buffer.byteLength).toBe(frame?.plain.length);
});
