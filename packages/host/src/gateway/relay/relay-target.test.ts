import { expect, test } from "vitest";
import { findRelayTarget, isTerminalUpgrade } from "./relay-target.ts";

test.each([
  ["POST", "/box/rpc/exec.v1.Processes/Start", { door: "rpc", path: "/exec.v1.Processes/Start" }],
  ["POST", "/box/rpc/exec.v1.Files/Read?x=1", { door: "rpc", path: "/exec.v1.Files/Read?x=1" }],
  ["POST", "/box/rpc/exec.v1.Control/Ping", { door: "rpc", path: "/exec.v1.Control/Ping" }],
  ["GET", "/box/pty/terminals", { door: "pty", path: "/terminals" }],
  ["DELETE", "/box/pty/terminals/a.b:c-1", { door: "pty", path: "/terminals/a.b:c-1" }],
  [
    "GET",
    "/box/pty/terminals/a%3Ab/attach?mode=view",
    { door: "pty", path: "/terminals/a%3Ab/attach?mode=view" },
  ],
] as const)("%s %s leads into the box", (method, url, target) => {
  expect(findRelayTarget(method, url)).toEqual(target);
});

test.each([
  ["POST", "/box/rpc/exec.v1.Control/SyncSecrets"],
  ["POST", "/box/rpc/exec.v1.Control/InstallPlugin"],
  ["POST", "/box/rpc/exec.v1.Mcp/LoadServers"],
  ["POST", "/box/rpc/constructor/Start"],
  ["GET", "/box/rpc/exec.v1.Processes/Start"],
  ["POST", "/box/rpc/exec.v1.Processes/Start/more"],
  ["POST", "/box/rpc//exec.v1.Processes/Start"],
  ["POST", "/box/pty/tickets"],
  ["POST", "/box/pty/terminals/../tickets"],
  ["POST", "/box/pty/terminals/%2e%2e/tickets"],
  ["PUT", "/box/pty/terminals"],
  ["GET", "/box/"],
])("%s %s leads nowhere", (method, url) => {
  expect(findRelayTarget(method, url)).toBeUndefined();
});

test("only a terminal's connection is a WebSocket", () => {
  expect(isTerminalUpgrade("GET", "/box/pty/terminals/a/attach?since=1", "WebSocket")).toBe(true);
  expect(isTerminalUpgrade("GET", "/box/pty/terminals/a/attach", "h2c")).toBe(false);
  expect(isTerminalUpgrade("GET", "/box/pty/terminals/a/attach", undefined)).toBe(false);
  expect(isTerminalUpgrade("POST", "/box/pty/terminals/a/attach", "websocket")).toBe(false);
  expect(isTerminalUpgrade("GET", "/box/pty/terminals", "websocket")).toBe(false);
  expect(isTerminalUpgrade("GET", "/events", "websocket")).toBe(false);
});
