import { expect, test } from "vitest";
import { BoxError } from "../errors.ts";
import { limits } from "../limits.ts";
import type { BuiltCommandName } from "./command-table.ts";
import { parseRequest } from "./parse-request.ts";

function refusalOf(name: BuiltCommandName, body: unknown): { code: string; message: string } | undefined {
  try {
    parseRequest(name, body);
    return undefined;
  } catch (error) {
    if (!(error instanceof BoxError)) throw error;
    return { code: error.code, message: error.message };
  }
}

test("fields that the schema does not know are ignored", () => {
  expect(parseRequest("sendPrompt", { prompt: "x", metadata: { a: 1 }, source: "desktop" })).toEqual({
    prompt: "x",
  });
});

test.each<[BuiltCommandName, unknown, string]>([
  ["sendPrompt", {}, "prompt"],
  ["createAgent", { name: "x" }, "description"],
  ["createAgent", { description: "x" }, "name"],
  ["updateAgent", { id: "a" }, "profile"],
  ["updateAgent", { id: "a", profile: { name: "n" } }, "profile.description"],
  ["deleteAgent", {}, "id"],
  ["deleteAgents", {}, "ids"],
  ["interruptAgentRun", {}, "id"],
  ["promptAcceptanceStatus", { accountSlot: "host" }, "clientNonce"],
  ["promptAcceptanceStatus", { clientNonce: "n" }, "accountSlot"],
  ["getAgentTranscriptTail", {}, "id"],
  ["openAgentTail", {}, "id"],
  ["getSubagents", {}, "id"],
  ["openAgent", {}, "id"],
  ["openAgentWindowed", {}, "id"],
  ["getAgentTranscript", {}, "id"],
  ["getAgentTranscriptPage", { id: "a" }, "limit"],
  ["getAgentThread", { id: "a" }, "rootId"],
  ["getConversationOutline", {}, "id"],
  ["setAgentUnread", { id: "a" }, "isUnread"],
  ["setAgentNotificationsEnabled", { id: "a" }, "isEnabled"],
  ["setAgentNotifyOnUpdates", { isEnabled: true }, "id"],
  ["setAgentHiddenFromSidebar", { id: "a" }, "isHidden"],
  ["setHostSettings", { agentDefaultModel: { modelId: "m" } }, "agentDefaultModel.parameters"],
  ["getAsyncTasks", {}, "id"],
])("%s without a required field names it (%j)", (name, body, field) => {
  const refusal = refusalOf(name, body);
  expect(refusal).toEqual({ code: "gateway/bad-request", message: `${field} is required` });
});

test.each<[BuiltCommandName, unknown, string]>([
  ["sendPrompt", { prompt: 7 }, "prompt"],
  ["sendPrompt", { prompt: null }, "prompt"],
  ["sendPrompt", { prompt: "x", attachmentPaths: [1] }, "attachmentPaths.0"],
  ["sendPrompt", { prompt: "x", whenBusy: "later" }, "whenBusy"],
  ["sendPrompt", { prompt: "x", clientNonce: "" }, "clientNonce"],
  ["getAgentTranscriptTail", { id: "a", limit: 0 }, "limit"],
  ["getAgentTranscriptTail", { id: "a", limit: 1.5 }, "limit"],
  ["getAgentTranscriptTail", { id: "a", beforeSeq: -1 }, "beforeSeq"],
  ["createAgent", { name: "n", description: "d", avatarShape: "triangle" }, "avatarShape"],
  ["deleteAgents", { ids: "a" }, "ids"],
  ["getAgentTranscriptPage", { id: "a", limit: 5, sinceMs: "yesterday" }, "sinceMs"],
  ["setAgentUnread", { id: "a", isUnread: 1 }, "isUnread"],
  ["setHostSettings", { notifications: { windowMs: -1 } }, "notifications.windowMs"],
  ["setHostSettings", { mcpCustomInstructionsByServerId: { s: 1 } }, "mcpCustomInstructionsByServerId.s"],
])("%s with a field of a wrong kind names it (%j)", (name, body, field) => {
  const refusal = refusalOf(name, body);
  expect(refusal?.code).toBe("gateway/bad-request");
  expect(refusal?.message.split(" ")[0]).toBe(field);
});

test("null for an optional field counts as absent", () => {
  expect(
    parseRequest("sendPrompt", { prompt: "x", agentId: null, clientNonce: null, attachmentPaths: null }),
  ).toEqual({
    prompt: "x",
  });
});

test("null stays where the schema means it", () => {
  const profile = { name: "n", description: "d", avatarShape: null };
  expect(parseRequest("updateAgent", { id: "a", profile })).toEqual({ id: "a", profile });
});

test("fields that are not known are ignored also in an object that may be null", () => {
  const agentDefaultModel = { modelId: "m", parameters: [] };
  expect(
    parseRequest("setHostSettings", {
      agentDefaultModel: { ...agentDefaultModel, extra: 1 },
      userTimeZone: null,
    }),
  ).toEqual({ agentDefaultModel, userTimeZone: null });
});

test.each([[null], [[]], ["x"], [7], [true]])("a body that is not an object is refused (%j)", (body) => {
  expect(refusalOf("listAgents", body)?.code).toBe("gateway/bad-request");
});

test("a prototype in the body reaches nobody", () => {
  const request = parseRequest(
    "sendPrompt",
    JSON.parse('{"prompt":"x","__proto__":{"agentId":"evil"},"constructor":1}'),
  );
  expect(Object.keys(request)).toEqual(["prompt"]);
  expect(request.agentId).toBeUndefined();
});

test("a body that is nested too deeply is refused and does not exhaust the stack", () => {
  const deep = JSON.parse(`{"prompt":"x","richText":${"[".repeat(200_000)}${"]".repeat(200_000)}}`);
  expect(refusalOf("sendPrompt", deep)).toEqual({
    code: "gateway/bad-request",
    message: `the body is nested more than ${limits.bodyMaxDepth} levels deep`,
  });
});

test("a nonce with half a surrogate pair is refused: two of them would be one in the ledger", () => {
  const send = (clientNonce: string) => () => parseRequest("sendPrompt", { prompt: "x", clientNonce });
  expect(send("\ud83d\ude00")).not.toThrow();
  for (const nonce of ["\udfff", "a\ud800b"]) {
    expect(send(nonce)).toThrowError(expect.objectContaining({ code: "gateway/bad-request" }));
  }
});
