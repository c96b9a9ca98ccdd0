import { expect, test } from "vitest";
import { createPaint } from "../terminal.ts";
import { renderHit } from "./render-hit.ts";
import { readHits, readSearchStatus } from "./search-answers.ts";

const paint = createPaint(false);
const at = new Date(2026, 0, 2, 3, 4).getTime();

test("a message shows when, where, who and the words around it", () => {
  const [hit] = readHits([
    { agentId: "a", entryId: "e", role: "user", timestampMs: at, snippet: "hello there" },
  ]);
  expect(hit && renderHit(hit, "main", { paint })).toBe("2026-01-02 03:04  main  you: hello there");
});

test("a file shows its name, and nothing of it moves the cursor", () => {
  const [hit] = readHits([{ agentId: "a", kind: "image", timestampMs: at, fileName: "a\u001b[2Jb\n.png" }]);
  expect(hit && renderHit(hit, "main", { paint })).toBe("2026-01-02 03:04  main  image: ab .png");
});

test("an answer of another shape is no hit and no status", () => {
  expect(readHits({ error: "x" })).toEqual([]);
  expect(readHits([null])).toMatchObject([{ agentId: "", text: "", timestampMs: 0 }]);
  expect(readSearchStatus(null)).toEqual({ state: "", agentsDone: 0, agentsTotal: 0 });
});
