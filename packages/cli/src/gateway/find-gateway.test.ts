import { expect, test } from "vitest";
import { exitNameOfStatus } from "../exit-codes.ts";
import { chooseAgent, parseAgentRow } from "./agent-rows.ts";
import { parseDiscovery } from "./find-gateway.ts";
import { refusal } from "./gateway-client.ts";

const file = { port: 1340, pid: 7, startedAt: 1, scheme: "http", host: "127.0.0.1", token: "t" };

const hosts = [
  ["127.0.0.1", "http://127.0.0.1:1340"],
  ["0.0.0.0", "http://127.0.0.1:1340"],
  ["::", "http://127.0.0.1:1340"],
  ["::1", "http://[::1]:1340"],
] as const;
test.each(hosts)("a gateway bound to %s is dialled at %s", (host, url) => {
  expect(parseDiscovery({ ...file, host })?.url).toBe(url);
});

test("a discovery file without a port or a pid names no gateway", () => {
  for (const broken of [{ ...file, port: 0 }, { ...file, port: "1340" }, { ...file, pid: -1 }, {}]) {
    expect(parseDiscovery(broken)).toBe(undefined);
  }
});

const statuses = [
  [400, "usage"],
  [401, "unauthorized"],
  [403, "unauthorized"],
  [404, "notFound"],
  [409, "conflict"],
  [429, "failed"],
  [500, "serverError"],
  [501, "serverError"],
  [503, "serverError"],
] as const;
test.each(statuses)("an answer with status %i ends as %s", (status, name) => {
  expect(exitNameOfStatus(status)).toBe(name);
});

test("a refusal keeps the gateway's words and its code", () => {
  const failure = refusal(409, { error: "another prompt", failureCode: "gateway/nonce-conflict" }, "");
  expect({ exit: failure.exit, message: failure.message, code: failure.failureCode }).toEqual({
    exit: "conflict",
    message: "another prompt",
    code: "gateway/nonce-conflict",
  });
  expect(refusal(502, undefined, "<html>").message).toBe("<html>");
});

const rows = ["a Main", "b main", "c Other"].map((words) => {
  const [id, name] = words.split(" ");
  return parseAgentRow({ id, name });
});
const agents = rows.filter((row) => row !== undefined);

test("an agent is meant by its id, by its name, or by its name in other capitals when that is one", () => {
  const pick = (word: string) => {
    const choice = chooseAgent(agents, word);
    return choice.kind === "one" ? choice.agent.id : choice.kind;
  };
  expect([pick("c"), pick("Main"), pick("other"), pick("MAIN"), pick("nobody")]).toEqual([
    "c",
    "a",
    "c",
    "many",
    "none",
  ]);
});
