/** What every model behind the port keeps, the offline one and a provider over the wire alike. */
import type { ModelMessage, ModelPart, ModelPort } from "@sand/agent-core";
import { createModel } from "@sand/inference";
import { systemClock } from "@sand/node-kit";
import { namedRules, type ScriptedModel, startScriptedModel } from "@sand/testkit/model-server";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  callsOf,
  collect,
  endOf,
  messagesModelOf,
  modelOf,
  requestOf,
  shellTool,
  textOf,
  userRequest,
} from "./collect-parts.ts";

interface Subject {
  readonly name: string;
  readonly model: () => ModelPort;
  /** a prompt that is answered with text, and one that makes the model call Shell */
  readonly talk: string;
  readonly work: string;
}

let server: ScriptedModel;
beforeAll(async () => {
  server = await startScriptedModel({ script: { rules: namedRules } });
});
afterAll(async () => server.close());

const subjects: readonly Subject[] = [
  {
    name: "offline",
    model: () => createModel({ provider: "offline" }, { clock: systemClock }),
    talk: "help",
    work: "run `ls`",
  },
  {
    name: "openai-compatible",
    model: () => modelOf(server),
    talk: "script:say a text that is long enough for several deltas, whatever their size",
    work: "script:run ls",
  },
  {
    name: "anthropic",
    model: () => messagesModelOf(server),
    talk: "script:say a text that is long enough for several deltas, whatever their size",
    work: "script:run ls",
  },
];

describe.each(subjects)("$name", ({ model, talk, work }) => {
  test("names its provider and its model", () => {
    expect([model().provider, model().model]).toEqual([
      expect.stringMatching(/.+/u),
      expect.stringMatching(/.+/u),
    ]);
  });

  test("streams an answer in several deltas and ends with one finish", async () => {
    const parts = await collect(model(), userRequest(talk));
    expect(parts.filter((part) => part.type === "text-delta").length).toBeGreaterThan(1);
    expect(parts.filter((part) => part.type === "finish" || part.type === "error")).toHaveLength(1);
    expect(endOf(parts)).toBe("finish stop");
  });

  test("gives a call whole, with its id, right before the finish", async () => {
    const parts = await collect(model(), userRequest(work));
    expect(callsOf(parts)).toEqual([
      {
        type: "tool-call",
        providerCallId: expect.stringMatching(/.+/u),
        name: "Shell",
        argsText: '{"command":"ls"}',
      },
    ]);
    expect(parts.at(-2)?.type).toBe("tool-call");
    expect(endOf(parts)).toBe("finish tool-calls");
  });

  test("answers from a tool's result", async () => {
    const asked: readonly ModelMessage[] = [{ role: "user", text: work }];
    const call = callOf(await collect(model(), requestOf(asked)));
    const parts = await collect(model(), requestOf([...asked, ...exchange(call, "one.txt\ntwo.txt")]));
    expect(textOf(parts)).toContain("one.txt\ntwo.txt");
    expect(endOf(parts)).toBe("finish stop");
  });

  test("gives the same request the same parts", async () => {
    expect(await collect(model(), userRequest(work))).toEqual(await collect(model(), userRequest(work)));
  });

  test("makes a new id for the next call of a conversation", async () => {
    const asked: readonly ModelMessage[] = [{ role: "user", text: work }];
    const first = callOf(await collect(model(), requestOf(asked)));
    const history = [...asked, ...exchange(first, "x"), { role: "user", text: work } as const];
    const second = callOf(await collect(model(), requestOf(history)));
    expect(second.providerCallId).not.toBe(first.providerCallId);
  });

  test("says nothing when the signal is aborted before the start", async () => {
    expect(await collect(model(), userRequest(talk), AbortSignal.abort())).toEqual([]);
  });

  test("ends without a finish when the signal aborts in the middle", async () => {
    const abort = new AbortController();
    const parts: ModelPart[] = [];
    for await (const part of model().stream(userRequest(talk), abort.signal)) {
      parts.push(part);
      abort.abort();
    }
    expect(parts.map((part) => part.type)).not.toContain("finish");
    expect(parts.map((part) => part.type)).not.toContain("error");
  });

  test("accepts a history with calls whose arguments are no JSON", async () => {
    const call = { providerCallId: "c1", name: "Shell", argsText: '{"command":' };
    const parts = await collect(
      model(),
      requestOf([
        { role: "user", text: talk },
        ...exchange(call, "bad arguments"),
        { role: "user", text: talk },
      ]),
    );
    expect(endOf(parts)).toBe("finish stop");
  });

  test("works without any tool", async () => {
    expect(endOf(await collect(model(), userRequest(talk, { tools: [] })))).toBe("finish stop");
  });
});

test("no request of the suite broke a rule of the wire", () => {
  expect(server.violations).toEqual([]);
  expect(server.requestCount).toBeGreaterThan(5);
});

interface Call {
  readonly providerCallId: string;
  readonly name: string;
  readonly argsText: string;
}

function callOf(parts: readonly ModelPart[]): Call {
  const call = parts.find((part) => part.type === "tool-call");
  if (call === undefined) throw new Error("the model made no call");
  return { ...call, providerCallId: call.providerCallId ?? "minted" };
}

function exchange(call: Call, result: string): readonly ModelMessage[] {
  const { providerCallId, name, argsText } = call;
  return [
    { role: "assistant", text: "", calls: [{ providerCallId, name, argsText }], reasoning: [] },
    { role: "tool", providerCallId, name: shellTool.name, text: result, isError: false },
  ];
}
