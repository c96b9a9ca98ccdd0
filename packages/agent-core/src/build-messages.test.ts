import { expect, test } from "vitest";
import { completed, delivered, intended, prepared, settledCall, started } from "../test/turn-fixture.ts";
import { buildMessages } from "./build-messages.ts";
import type { ModelMessage } from "./model-port.ts";
import type { TurnRecord } from "./turn-records.ts";
import { reduceTurnRecords, type TurnView } from "./turn-view.ts";

function turn(records: readonly TurnRecord[]): TurnView {
  const view = reduceTurnRecords(records);
  if (view === undefined) throw new Error("no turn");
  return view;
}

/** What a strict provider checks: each call has exactly one result right behind it, ids are unique, nothing is empty. */
function pairingFaults(messages: readonly ModelMessage[]): string[] {
  const faults: string[] = [];
  const seen = new Set<string>();
  let open: string[] = [];
  for (const message of messages) {
    if (message.role === "tool") {
      if (!open.includes(message.providerCallId))
        faults.push(`result without call ${message.providerCallId}`);
      open = open.filter((id) => id !== message.providerCallId);
      continue;
    }
    if (open.length > 0) faults.push(`calls without result: ${open.join()}`);
    open = [];
    if (message.role !== "assistant") continue;
    if (message.text === "" && message.calls.length === 0) faults.push("empty assistant message");
    for (const call of message.calls) {
      if (seen.has(call.providerCallId)) faults.push(`id twice: ${call.providerCallId}`);
      seen.add(call.providerCallId);
      open.push(call.providerCallId);
    }
  }
  if (open.length > 0) faults.push(`calls without result: ${open.join()}`);
  return faults;
}

const whole: readonly TurnRecord[] = [
  started(),
  delivered("do it"),
  prepared(1),
  completed(1, { text: "looking", calls: ["Shell", "Shell", "ReadFile"] }),
  intended(1, 0),
  intended(1, 1),
  settledCall(1, 1),
  settledCall(1, 0, "error"),
  settledCall(1, 2, "interrupted"),
  delivered("and that", 2),
  prepared(2),
  completed(2, { calls: ["Shell"] }),
  intended(2, 0),
  settledCall(2, 0),
  prepared(3),
  completed(3, { text: "done" }),
];

test("INV-5: every truncation of a turn's records gives a request whose calls are paired", () => {
  for (let length = 1; length <= whole.length; length += 1) {
    const cut = turn(whole.slice(0, length));
    expect(pairingFaults(buildMessages("s", [cut, turn(whole)])), `cut at ${length}`).toEqual([]);
  }
});

test("the messages of a turn stand in the order in which a model must read them", () => {
  const shown = buildMessages("s", [turn(whole)]).map((message) => {
    if (message.role === "assistant")
      return `assistant(${message.text}|${message.calls.map((call) => call.providerCallId).join()})`;
    return message.role === "tool"
      ? `tool(${message.providerCallId}:${message.text})`
      : `${message.role}(${message.text})`;
  });
  expect(shown).toEqual([
    "system(s)",
    "user(do it)",
    "assistant(looking|p-Shell,p-Shell_2,p-ReadFile)",
    "tool(p-Shell:error)",
    "tool(p-Shell_2:ok)",
    "tool(p-ReadFile:interrupted)",
    "user(and that)",
    "assistant(|p-Shell_3)",
    "tool(p-Shell_3:ok)",
    "assistant(done|)",
  ]);
});

test("a step that said nothing leaves no message", () => {
  const silent = turn([started(), delivered("a"), prepared(1), completed(1)]);
  expect(buildMessages("s", [silent]).map((message) => message.role)).toEqual(["system", "user"]);
});
