import { expect, test } from "vitest";
import { createLogger } from "./logger.ts";

function capture(level: string): {
  readonly lines: string[];
  readonly logger: ReturnType<typeof createLogger>;
} {
  const lines: string[] = [];
  return { lines, logger: createLogger({ name: "test", level, write: (line) => void lines.push(line) }) };
}

test("a line is one JSON object with its event", () => {
  const { lines, logger } = capture("info");
  logger.info({ event: "turn.settled", turnId: "t1" }, "a turn ended");
  expect(lines).toHaveLength(1);
  expect(JSON.parse(lines[0] ?? "")).toMatchObject({
    level: 30,
    name: "test",
    event: "turn.settled",
    turnId: "t1",
    msg: "a turn ended",
  });
});

test("lines below the level aren't written", () => {
  const { lines, logger } = capture("warn");
  logger.info({ event: "quiet" });
  expect(lines).toEqual([]);
});

test("what looks like a secret is blanked, in children as well", () => {
  const { lines, logger } = capture("info");
  const planted = "s3cr3t";
  logger.info({
    event: "a",
    token: planted,
    headers: { authorization: planted },
    box: { auth: { apiKey: planted } },
  });
  logger.child({ password: planted }).info({ event: "b" });
  expect(lines.join("")).not.toContain(planted);
});
