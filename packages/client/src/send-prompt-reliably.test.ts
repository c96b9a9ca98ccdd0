import { expect, test } from "vitest";
import { GatewayError } from "./gateway-error.ts";
import { PromptUnsettledError, type ReliableDeps, sendPromptReliably } from "./send-prompt-reliably.ts";

const noAnswer = new GatewayError("lost", { status: null, failureCode: null });
const busy = new GatewayError("later", { status: 503, failureCode: "host/shutting-down" });
const conflict = new GatewayError("other payload", { status: 409, failureCode: "gateway/nonce-conflict" });

type Fate = "accept" | GatewayError;

/** A host that answers sends and questions by a script, and says which nonces came. */
function scriptedHost(sends: readonly Fate[], statuses: readonly ("found" | "not-found" | GatewayError)[]) {
  const nonces: (string | undefined)[] = [];
  const calls: string[] = [];
  const deps: ReliableDeps = {
    async sendPrompt(request) {
      const fate = sends[nonces.length];
      nonces.push(request.clientNonce);
      calls.push("send");
      if (fate instanceof GatewayError) throw fate;
      return { accepted: true };
    },
    async promptAcceptanceStatus(request) {
      const answer = statuses[calls.filter((call) => call === "ask").length];
      calls.push("ask");
      expect(request.clientNonce).toBe(nonces.at(-1));
      if (answer instanceof GatewayError) throw answer;
      return answer === "found" ? { outcome: "found", record } : { outcome: "not-found" };
    },
  };
  return { deps, nonces, calls };
}

const record = {
  accountSlot: "host",
  clientNonce: "n",
  inputDigest: "d",
  status: "accepted",
  acceptedAtMs: 1,
  agentId: "a",
  echoEntryId: null,
  rejectionCode: null,
} as const;

const prompt = { prompt: "go", agentId: "a" };

test("a prompt that is accepted at once is sent once, under a fresh nonce", async () => {
  const { deps, nonces, calls } = scriptedHost(["accept"], []);
  const { clientNonce } = await sendPromptReliably(deps, prompt);
  expect(clientNonce).toMatch(/^[0-9a-f]{32}$/u);
  expect([nonces, calls]).toEqual([[clientNonce], ["send"]]);
});

test("a lost answer is asked for, and a prompt that the host has isn't sent again", async () => {
  const { deps, calls } = scriptedHost([noAnswer], ["found"]);
  expect(await sendPromptReliably(deps, { ...prompt, clientNonce: "mine" })).toEqual({ clientNonce: "mine" });
  expect(calls).toEqual(["send", "ask"]);
});

test("a prompt that the host doesn't have is sent again under the same nonce", async () => {
  const { deps, nonces, calls } = scriptedHost([noAnswer, busy, "accept"], ["not-found", noAnswer]);
  const { clientNonce } = await sendPromptReliably(deps, prompt);
  expect(nonces).toEqual([clientNonce, clientNonce, clientNonce]);
  expect(calls).toEqual(["send", "ask", "send", "ask", "send"]);
});

test("what no repeat can mend is thrown at once", async () => {
  const { deps, calls } = scriptedHost([conflict], []);
  await expect(sendPromptReliably(deps, prompt)).rejects.toBe(conflict);
  expect(calls).toEqual(["send"]);
});

test("when the time is over the error says the nonce under which a repeat is safe", async () => {
  const { deps } = scriptedHost([noAnswer], ["not-found"]);
  const sent = sendPromptReliably(deps, { ...prompt, clientNonce: "mine" }, { deadlineMs: 0 });
  await expect(sent).rejects.toThrow(PromptUnsettledError);
  await expect(sent).rejects.toMatchObject({ clientNonce: "mine", cause: noAnswer });
});

test("an abort ends the tries", async () => {
  const { deps, calls } = scriptedHost([noAnswer], ["not-found"]);
  const leaving = new AbortController();
  const sent = sendPromptReliably(deps, prompt, { signal: leaving.signal });
  leaving.abort(new Error("the user left"));
  await expect(sent).rejects.toThrow("the user left");
  expect(calls).toEqual(["send", "ask"]);
});
