import { BoxError } from "@sand/protocol";
import { expect, test } from "vitest";
import { parseStreamRequest } from "./parse-stream-request.ts";

test("channels may be separated by a plain or an encoded comma", () => {
  expect([...parseStreamRequest("/events?channels=a,b", undefined).channels]).toEqual(["a", "b"]);
  expect([...parseStreamRequest("/events?channels=a%2Cb", undefined).channels]).toEqual(["a", "b"]);
});

test("an absent and an empty list mean all channels", () => {
  expect(parseStreamRequest("/events", undefined)).toEqual({ channels: new Set(), since: undefined });
  expect(parseStreamRequest("/events?channels=", undefined).channels.size).toBe(0);
});

test("a reconnect's header is newer than the address that it repeats", () => {
  expect(parseStreamRequest("/events?since=5", "9").since).toBe(9);
  expect(parseStreamRequest("/events?since=5", "").since).toBe(5);
  expect(parseStreamRequest("/events?since=0", undefined).since).toBe(0);
});

test.each([
  ["/events?since=", undefined],
  ["/events?since=-1", undefined],
  ["/events?since=1.5", undefined],
  ["/events?since=0x10", undefined],
  ["/events?since=1e3", undefined],
  ["/events?since=9007199254740993", undefined],
  ["/events?since=99999999999999999999", undefined],
  ["/events?since=1&since=2", undefined],
  ["/events", "abc"],
  [`/events?channels=${"a,".repeat(65)}`, undefined],
])("%s with the header %s is refused", (url, header) => {
  expect(() => parseStreamRequest(url, header)).toThrow(BoxError);
});
