import { type AgentId, brandId } from "@sand/protocol";
import { expect, test } from "vitest";
import { createWorkList } from "./work-list.ts";

const [a, b, c] = ["a", "b", "c"].map(brandId<AgentId>) as [AgentId, AgentId, AgentId];
const ids = (list: ReturnType<typeof createWorkList>, turns: number): (string | undefined)[] =>
  Array.from({ length: turns }, () => list.next()?.agentId);

test("what has just changed and what is behind take turns", () => {
  const list = createWorkList();
  list.catchUp([a], []);
  list.add(b);
  expect(ids(list, 4)).toEqual([a, b, a, b]);
});

test("an agent is in one list only, and leaves it when it is done", () => {
  const list = createWorkList();
  list.add(a);
  expect(list.catchUp([a, b], [])).toEqual({ done: 0, total: 2 });
  list.add(b);
  expect(list.nextFresh()).toBeUndefined();
  expect(list.done(a)).toEqual({ done: 1, total: 2 });
  expect(list.done(c)).toBeUndefined();
  expect(list.done(b)).toEqual({ done: 2, total: 2 });
  expect(list.next()).toBeUndefined();
});

test("what is to be forgotten comes first, and isn't projected any more", () => {
  const list = createWorkList();
  list.add(a);
  list.add(b);
  list.forget(a);
  expect(list.next()).toEqual({ kind: "forget", agentId: a });
  list.forgotten(a);
  expect(ids(list, 2)).toEqual([b, b]);
  list.clear();
  expect(list.next()).toBeUndefined();
});
