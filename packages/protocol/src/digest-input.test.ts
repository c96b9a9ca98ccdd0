import { expect, test } from "vitest";
import type { SendPromptRequest } from "./commands/prompting-commands.ts";
import { creationDigestInput, promptDigestInput } from "./digest-input.ts";
import { type AgentId, brandId } from "./ids.ts";

const agent = brandId<AgentId>("a");
const base: SendPromptRequest = { prompt: "do it" };

test.each<[string, SendPromptRequest]>([
  ["the nonce", { ...base, clientNonce: "n" }],
  ["how it meets a running turn", { ...base, whenBusy: "queue" }],
  ["an empty list of attachments", { ...base, attachmentPaths: [], attachmentNames: [] }],
  ["a flag that says the default", { ...base, isFork: false }],
])("%s does not count", (_what, request) => {
  expect(promptDigestInput(agent, request)).toBe(promptDigestInput(agent, base));
});

test.each<[string, SendPromptRequest]>([
  ["the prompt", { prompt: "do it " }],
  ["an attachment", { ...base, attachmentPaths: ["a.txt"] }],
  ["an attachment's name", { ...base, attachmentNames: ["a.txt"] }],
  ["rich text", { ...base, richText: { ops: [] } }],
  ["the entry it replies to", { ...base, replyToId: "e1" }],
  ["a fork", { ...base, isFork: true }],
  ["a direct address", { ...base, directAddressedAcceptance: true }],
])("%s counts", (_what, request) => {
  expect(promptDigestInput(agent, request)).not.toBe(promptDigestInput(agent, base));
});

test("the agent counts", () => {
  expect(promptDigestInput(brandId<AgentId>("b"), base)).not.toBe(promptDigestInput(agent, base));
});

test("an agent's creation is another one when its name or description differs", () => {
  const request = { name: "n", description: "d" };
  expect(creationDigestInput({ ...request, clientNonce: "x" })).toBe(creationDigestInput(request));
  expect(creationDigestInput({ ...request, description: "e" })).not.toBe(creationDigestInput(request));
});
