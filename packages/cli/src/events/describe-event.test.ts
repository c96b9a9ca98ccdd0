import { expect, test } from "vitest";
import { describeEvent } from "./describe-event.ts";

const call = { id: "c", kind: "tool-call", name: "Shell", status: "running", summary: "ls -l" };
const answer = { id: "a", kind: "send-message", message: { type: "text", content: "Done." } };
const cases = [
  [
    "transcript",
    { type: "updated", agentId: "a-1", entry: call },
    "a-1",
    "updated tool-call Shell running: ls -l",
  ],
  ["transcript", { type: "appended", agentId: "a-1", entry: answer }, "a-1", "appended send-message: Done."],
  ["transcript", { type: "cleared", agentId: "a-1" }, "a-1", "cleared"],
  ["agent-upserted", { agent: { id: "a-2", name: "main", isRunning: true } }, "a-2", "main is running"],
  ["agents", { agents: [{}] }, undefined, "1 agent"],
  ["async-tasks", { agentId: "a-1", tasks: [] }, "a-1", "0 tasks"],
  ["turn", { agentId: "a-1", turnId: "t-1", type: "turnOpened" }, "a-1", "turnOpened t-1"],
  ["turn-delta", { agentId: "a-1", type: "text", text: "Hel" }, "a-1", "text: Hel"],
  ["reset", { reason: "too-old", lastSeq: 7 }, undefined, "events before this are missing: too-old"],
  ["something-new", { agentId: 7 }, undefined, ""],
] as const;

test.each(cases)(
  "an event of %s is one line about whom it concerns (%j)",
  (channel, payload, agentId, text) => {
    expect(describeEvent(channel, payload)).toEqual({ agentId, text });
  },
);
