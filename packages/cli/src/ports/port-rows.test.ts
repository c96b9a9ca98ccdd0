import { expect, test } from "vitest";
import { readPortRows } from "./port-rows.ts";

test("the addresses of one port and process are one row, and its owner is told in words", () => {
  const ports = [
    { port: 80, address: "0.0.0.0", pid: 7, name: "node", owner: { processId: "p", agentId: "a" } },
    { port: 80, address: "::", pid: 7, name: "node", owner: { processId: "p", agentId: "a" } },
    { port: 81, address: "127.0.0.1", pid: 8, name: "srv", owner: { mcpServerId: "files" } },
    { port: 82, address: "127.0.0.1", pid: 9, name: "node", owner: { daemon: true } },
    { port: 83, address: "127.0.0.1", owner: {} },
    { port: 84, address: "127.0.0.1", pid: 3, name: "x", owner: { processId: "sand-exec-1" } },
  ];
  expect(readPortRows({ ports })).toEqual([
    { port: 80, addresses: ["0.0.0.0", "::"], pid: 7, program: "node", owner: "command of agent a" },
    { port: 81, addresses: ["127.0.0.1"], pid: 8, program: "srv", owner: "MCP server files" },
    { port: 82, addresses: ["127.0.0.1"], pid: 9, program: "node", owner: "sand itself" },
    { port: 83, addresses: ["127.0.0.1"], pid: 0, program: "", owner: "" },
    { port: 84, addresses: ["127.0.0.1"], pid: 3, program: "x", owner: "command sand-exec-1" },
  ]);
});

test("what makes no sense is left out", () => {
  expect(readPortRows({})).toEqual([]);
  expect(readPortRows({ ports: [7, null, { port: "x" }] })).toEqual([]);
});
