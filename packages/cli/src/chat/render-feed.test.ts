import { expect, test } from "vitest";
import { createPaint } from "../terminal.ts";
import { type FeedEntry, type FeedEvent, readFrame } from "./feed-event.ts";
import { createFeedRenderer } from "./render-feed.ts";

const plain = createPaint(false);

function entry(fields: Partial<FeedEntry> & { readonly id: string; readonly kind: string }): FeedEvent {
  return {
    kind: "entry",
    entry: {
      role: "",
      text: "",
      clientNonce: undefined,
      seq: undefined,
      name: "",
      status: "",
      outputPreview: undefined,
      level: "",
      code: "",
      ...fields,
    },
  };
}

const shell = (status: string, more: Partial<FeedEntry> = {}): FeedEvent =>
  entry({ id: "c1", kind: "tool-call", name: "Shell", text: "ls", status, ...more });
const answer = (text: string): FeedEvent => entry({ id: "a1", kind: "send-message", text });

function check(events: readonly FeedEvent[], screen: string): void {
  const renderer = createFeedRenderer({ paint: plain, isOwnNonce: (nonce) => nonce === "mine" });
  expect(events.map((event) => renderer.render(event)).join("")).toBe(screen);
}

test("a streamed answer isn't printed again when it is stored", () => {
  check([{ kind: "text", text: "Hel" }, { kind: "text", text: "lo." }, answer("Hello.")], "Hello.\n");
});

test("what a streamed answer lacks is added when it is stored", () => {
  check([{ kind: "text", text: "Hel" }, answer("Hello.")], "Hello.\n");
});

test("an answer that wasn't streamed is printed whole", () => {
  check([answer("Hello.")], "Hello.\n");
});

test("an answer that differs from what was streamed begins on its own line", () => {
  check([{ kind: "text", text: "Draft" }, answer("Final")], "Draft\nFinal\n");
});

test("a call shows its name, its streamed output behind a bar, and how it ended", () => {
  check(
    [
      { kind: "text", text: "Let me look." },
      shell("pending"),
      shell("running"),
      { kind: "output", callId: "c1", text: "a.t" },
      { kind: "output", callId: "c1", text: "xt\nb.txt\n" },
      shell("completed", { outputPreview: "a.txt\nb.txt\n" }),
      answer("Two files."),
    ],
    "Let me look.\n▸ Shell ls\n  │ a.txt\n  │ b.txt\n  ✓ completed\nTwo files.\n",
  );
});

test("a call whose output wasn't streamed shows its preview", () => {
  check(
    [shell("running"), shell("failed", { outputPreview: "no such file" })],
    "▸ Shell ls\n  │ no such file\n  ✗ failed\n",
  );
});

test("output without a line break at its end is closed before the state", () => {
  check(
    [shell("running"), { kind: "output", callId: "c1", text: "half" }, shell("interrupted")],
    "▸ Shell ls\n  │ half\n  ■ interrupted\n",
  );
});

test("a settled call that is replayed in an older state stays settled and silent", () => {
  check([shell("completed"), shell("running"), shell("completed")], "▸ Shell ls\n  ✓ completed\n");
});

test("output of two calls that run side by side is given to the call that wrote it, and each says its name when it ends", () => {
  const second = (status: string): FeedEvent =>
    entry({ id: "c2", kind: "tool-call", name: "Grep", text: "x", status });
  check(
    [
      shell("running"),
      second("running"),
      { kind: "output", callId: "c2", text: "two\n" },
      { kind: "output", callId: "c1", text: "on" },
      { kind: "output", callId: "c2", text: "more\n" },
      { kind: "output", callId: "c1", text: "e\n" },
      { kind: "output", callId: "nobody", text: "lost\n" },
      shell("completed"),
      second("completed"),
    ],
    [
      "▸ Shell ls\n▸ Grep x\n  │ two\n  ┌ Shell ls\n  │ on\n  ┌ Grep x\n  │ more\n  ┌ Shell ls\n  │ e\n",
      "  ✓ Shell completed\n  ✓ completed\n",
    ].join(""),
  );
});

test("long output is cut, and says so once", () => {
  const renderer = createFeedRenderer({ paint: plain, isOwnNonce: () => false });
  renderer.render(shell("running"));
  const shown = [1, 2]
    .map(() => renderer.render({ kind: "output", callId: "c1", text: "y\n".repeat(500) }))
    .join("");
  expect(shown.split("\n").length).toBe(202);
  expect(shown.match(/there is more/gu)?.length).toBe(1);
});

test("a prompt from elsewhere is shown, one's own isn't", () => {
  check(
    [
      entry({ id: "m1", kind: "message", role: "user", text: "hi", clientNonce: "mine" }),
      entry({ id: "m2", kind: "message", role: "user", text: "hello", clientNonce: "other" }),
    ],
    "you: hello\n",
  );
});

test("an escape sequence in output never reaches the screen", () => {
  check(
    [
      shell("running"),
      { kind: "output", callId: "c1", text: "\u001b]0;title\u0007\u001b[31mred\u001b[0m\u0007\n" },
    ],
    "▸ Shell ls\n  │ red\n",
  );
});

test("a frame of another agent, or of no known shape, means nothing", () => {
  expect(
    readFrame("transcript", { type: "appended", agentId: "b", entry: { id: "1", kind: "notice" } }, "a"),
  ).toBe(undefined);
  expect(readFrame("transcript", { type: "appended", agentId: "a", entry: 7 }, "a")).toBe(undefined);
  expect(readFrame("agent-upserted", { agent: { id: "a", isRunning: "yes" } }, "a")).toBe(undefined);
  expect(readFrame("tray", { agentId: "a" }, "a")).toBe(undefined);
});

test("a summary says whether the agent runs and whether it waits for the user", () => {
  expect(
    readFrame("agent-upserted", { agent: { id: "a", isRunning: true, awaitingUserResponse: {} } }, "a"),
  ).toEqual({
    kind: "running",
    isRetrying: false,
    isRunning: true,
    awaitingUser: true,
  });
});

test("a provider that fails is told once for each wait, and its last word comes with what to do", () => {
  const state = (isRunning: boolean, isRetrying: boolean): FeedEvent => ({
    ...{ kind: "running", isRunning, isRetrying, awaitingUser: false },
  });
  const last = { id: "n1", kind: "notice", text: "no", level: "error", code: "inference/unavailable" };
  check(
    [state(true, true), state(true, true), entry(last), state(false, false)],
    "… the model provider failed; trying again\n! no\n" +
      "  check the provider's settings (key, SAND_INFERENCE_BASE_URL, SAND_INFERENCE_MODEL), then sand down and sand up\n",
  );
});
