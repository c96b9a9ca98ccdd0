import { expect, test } from "vitest";
import { exitStatusOf, readEvent } from "./exec-event.ts";

const ends = [
  [{ code: 0, signal: null, timedOut: false }, 0],
  [{ code: 255, signal: null, timedOut: false }, 255],
  [{ code: null, signal: "SIGTERM", timedOut: false }, 143],
  [{ code: null, signal: "SIGKILL", timedOut: true }, 124],
  [{ code: null, signal: "SIGNOBODY", timedOut: false }, 127],
  [{ code: null, signal: null, timedOut: false }, 127],
] as const;
test.each(ends)("the end %j is the status %i", (end, status) => {
  expect(exitStatusOf(end)).toBe(status);
});

test("numbers that are absent count as zero, as the daemon's JSON leaves them out", () => {
  expect(readEvent({ seq: "4", gap: { stream: "STREAM_STDERR", to: "9" } })).toEqual({
    ...{ kind: "gap", stream: "stderr", bytes: 9 },
  });
  expect(readEvent({ seq: "1", started: {} })).toEqual({ kind: "started", pid: 0 });
  expect(readEvent({ seq: "5", exited: { code: 0, reason: "exited" } })).toEqual({
    ...{ kind: "exited", end: { code: 0, signal: null, timedOut: false } },
  });
});

test("an event of a newer daemon means nothing", () => {
  expect([readEvent({ seq: "1", novelty: {} }), readEvent(7), readEvent({ keepalive: {} })]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
});
