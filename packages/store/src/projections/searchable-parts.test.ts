import type { JsonObject } from "@sand/protocol";
import { expect, test } from "vitest";
import { searchableParts } from "./searchable-parts.ts";

const at = { id: "e", timestampMs: 5 };

test("what people wrote and what agents answered can be found", () => {
  expect(searchableParts({ ...at, kind: "message", role: "user", content: "hi" }).message).toEqual({
    role: "user",
    timestampMs: 5,
    body: "hi",
  });
  const sent = { ...at, kind: "send-message", message: { type: "text", content: "hello" } };
  expect(searchableParts(sent).message).toEqual({ role: "assistant", timestampMs: 5, body: "hello" });
});

const unseen: readonly JsonObject[] = [
  { ...at, kind: "tool-call", name: "Shell", summary: "secret" },
  { ...at, kind: "notice", content: "secret" },
  { ...at, kind: "message", role: "user", content: "secret", branched: true },
  { ...at, kind: "message", role: "user", content: "secret", hidden: true },
  { ...at, kind: "message", role: "user", content: "" },
  { ...at, kind: "message", role: "user" },
  { ...at, kind: "some-later-kind", content: "secret" },
  {},
];

test.each(unseen)("what the main window hides can't be found: %j", (entry) => {
  expect(searchableParts(entry)).toEqual({ message: undefined, media: [] });
});

test("files are found by their name, with what is known of them", () => {
  const attachment = {
    ...at,
    kind: "user-attachment",
    file_path: "/a/b.PNG",
    byteSize: 3,
    width: 4,
    height: 2,
  };
  expect(searchableParts(attachment).media).toEqual([
    {
      ...{ fileName: "b.PNG", ext: "png", mime: "image/png", kind: "image" },
      ...{ timestampMs: 5, width: 4, height: 2 },
    },
  ]);
  const sent = { type: "attachment", file_name: "notes.xyz", path: "/w/notes.xyz" };
  expect(searchableParts({ ...at, kind: "send-message", message: sent }).media).toMatchObject([
    { fileName: "notes.xyz", ext: "xyz", mime: null, kind: "file", width: null },
  ]);
  const images = [{ url: "https://h/p/chart.webp?x=1" }, { url: "data:image/png;base64,AAAA" }];
  const text = { type: "text", content: "look", images };
  expect(searchableParts({ ...at, kind: "send-message", message: text }).media).toMatchObject([
    { fileName: "chart.webp", kind: "image" },
  ]);
});

test("a time that is none is the beginning", () => {
  const wrong = { kind: "message", role: "user", content: "x", timestampMs: Number.MAX_VALUE };
  expect(searchableParts(wrong).message?.timestampMs).toBe(2 ** 42);
  expect(searchableParts({ ...wrong, timestampMs: "soon" }).message?.timestampMs).toBe(0);
});
