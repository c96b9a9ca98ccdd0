/** Each fault of a provider, over a real socket and in each wire format, ends in the right code, and never in a call. */
import {
  type ModelFault,
  type ModelReply,
  type ScriptedModel,
  startScriptedModel,
} from "@sand/testkit/model-server";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { adapters, callsOf, collect, endOf, requestOf, textOf, userRequest } from "./collect-parts.ts";

let server: ScriptedModel;
beforeAll(async () => {
  server = await startScriptedModel({ script: [{}] });
});
afterAll(async () => server.close());
afterEach(() => expect(server.violations).toEqual([]));

const shellCall = { name: "Shell", args: '{"command":"ls"}' };
const answer: ModelReply = { text: "Let me look.", calls: [shellCall] };

/** only for the faults that these end: a busy machine may need longer for a healthy answer */
const quick = { limits: { firstTokenMs: 250, idleMs: 250 } };

describe.each(adapters)("$name", ({ name, modelOf, textFrame }) => {
  describe("a failure is the last part and has the code that its kind means", () => {
    const cases: readonly (readonly [string, ModelFault, string])[] = [
      ["401", { kind: "status", status: 401 }, "inference/unauthorized"],
      ["403", { kind: "status", status: 403 }, "inference/unauthorized"],
      ["400", { kind: "status", status: 400 }, "inference/refused"],
      ["404", { kind: "status", status: 404 }, "inference/refused"],
      ["408", { kind: "status", status: 408 }, "inference/timeout retryable"],
      ["429", { kind: "status", status: 429 }, "inference/rate-limited retryable"],
      [
        "429 for an empty account",
        { kind: "status", status: 429, error: { message: "no money", type: "insufficient_quota" } },
        "inference/refused",
      ],
      ["500", { kind: "status", status: 500 }, "inference/unavailable retryable"],
      [
        "500 with a body that is no error object",
        { kind: "status", status: 500, error: "boom" },
        "inference/unavailable retryable",
      ],
      ["503", { kind: "status", status: 503 }, "inference/unavailable retryable"],
      ["529", { kind: "status", status: 529 }, "inference/overloaded retryable"],
      ["silence before the headers", { kind: "hang", at: "headers" }, "inference/timeout retryable"],
      ["silence before the first token", { kind: "hang", at: "first-token" }, "inference/timeout retryable"],
      ["silence in the middle", { kind: "hang", at: "middle" }, "inference/timeout retryable"],
      ["a broken connection", { kind: "cut", atByte: 600 }, "inference/incomplete retryable"],
      ["a clean end too early", { kind: "cut", atByte: 600, how: "end" }, "inference/incomplete retryable"],
      [
        "an overload inside the stream",
        { kind: "data", text: '{"error":{"message":"busy","type":"overloaded_error"}}' },
        "inference/overloaded retryable",
      ],
      [
        "an overload in the words of the messages format",
        { kind: "data", text: '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}' },
        "inference/overloaded retryable",
      ],
      [
        "an error without a message",
        { kind: "data", text: '{"error":{"code":502}}' },
        "inference/unavailable retryable",
      ],
      [
        "an error that is a text",
        { kind: "data", text: '{"error":"rate"}' },
        "inference/unavailable retryable",
      ],
      ["data that is no JSON", { kind: "data", text: '{"choices":[{"del' }, "inference/malformed retryable"],
      ["a web page", { kind: "body", contentType: "text/html", text: "<html>" }, "inference/malformed"],
      [
        "JSON in place of a stream",
        { kind: "body", contentType: "application/json", text: "{}" },
        "inference/malformed retryable",
      ],
    ];
    test.each(cases)("%s", async (_name, fault, end) => {
      server.setScript([{ ...answer, fault }]);
      const parts = await collect(modelOf(server, fault.kind === "hang" ? quick : {}), userRequest("hello"));
      expect(endOf(parts)).toBe(end);
      expect(callsOf(parts)).toEqual([]);
      expect(parts.filter((part) => part.type === "error" || part.type === "finish")).toHaveLength(1);
    });
  });

  describe("what a provider does oddly is no failure", () => {
    const cases: readonly (readonly [string, ModelReply])[] = [
      ["a line of garbage", { ...answer, fault: { kind: "line", text: "garbage without a colon" } }],
      ["a comment", { ...answer, fault: { kind: "line", text: ": still working" } }],
      ["a chunk of an unknown kind", { ...answer, fault: { kind: "data", text: '{"type":"ping","n":1}' } }],
      ["a chunk that is no object", { ...answer, fault: { kind: "data", text: "7" } }],
      [
        "an unknown block in the content",
        {
          ...answer,
          fault: {
            kind: "data",
            text: '{"choices":[{"index":0,"delta":{"content":[{"type":"hologram","x":1}]}}]}',
          },
        },
      ],
      [
        "a role of its own",
        { ...answer, fault: { kind: "data", text: '{"choices":[{"delta":{"role":"model"}}]}' } },
      ],
      ["a stream that stays open after its end", { ...answer, fault: { kind: "hang", at: "end" } }],
      ["stop in place of tool_calls", { ...answer, finish: "stop" }],
      ["no usage", { ...answer, usage: null }],
    ];
    test.each(cases)("%s", async (_name, reply) => {
      server.setScript([reply]);
      const parts = await collect(modelOf(server, { limits: { closeGraceMs: 60 } }), userRequest("hello"));
      expect(textOf(parts)).toBe("Let me look.");
      expect(callsOf(parts)).toMatchObject([{ name: "Shell", argsText: '{"command":"ls"}' }]);
      expect(endOf(parts)).toBe("finish tool-calls");
    });
  });

  describe("a finish that contradicts the content", () => {
    test("no finish reason is incomplete, also behind a proper end mark", async () => {
      server.setScript([{ ...answer, finish: null }]);
      const parts = await collect(modelOf(server), userRequest("hello"));
      expect(endOf(parts)).toBe("inference/incomplete retryable");
      expect(callsOf(parts)).toEqual([]);
    });

    test("tool_calls without a call is incomplete", async () => {
      server.setScript([{ text: "I call", finish: "tool_calls" }]);
      expect(endOf(await collect(modelOf(server), userRequest("hello")))).toBe(
        "inference/incomplete retryable",
      );
    });

    test("length with a call keeps both, so that the loop can refuse the call", async () => {
      server.setScript([{ calls: [{ name: "Shell", args: '{"command":"l' }], finish: "length" }]);
      const parts = await collect(modelOf(server), userRequest("hello"));
      expect(callsOf(parts)).toMatchObject([{ argsText: '{"command":"l' }]);
      expect(endOf(parts)).toBe("finish length");
    });

    test("a failure inside the stream wins over a finish reason behind it", async () => {
      server.setScript([
        { ...answer, fault: { kind: "data", text: '{"error":{"message":"x","code":503}}', after: 2 } },
      ]);
      expect(endOf(await collect(modelOf(server), userRequest("hello")))).toBe(
        "inference/unavailable retryable",
      );
    });
  });

  describe("calls are passed on as they were received", () => {
    // In the messages format a call without a piece of arguments is one whose input is the object it began with.
    const received = (args: string): string => (args === "" && name === "anthropic" ? "{}" : args);
    const texts = [
      "",
      "{",
      '{"command":"ls"',
      '{"a":1}{"b":2}',
      '  {"command" : "ls"}\n',
      '{"a":1,"a":2}',
      '"text"',
      "not json",
      '{"__proto__":{"x":1}}',
      '{"s":"\\ud800"}',
      '{"big":12345678901234567890}',
      '{"emoji":"😀"}',
    ];
    test.each(texts)("arguments %j", async (args) => {
      server.setScript([{ calls: [{ id: "c1", name: "Shell", args }], deltaChars: 3 }]);
      const parts = await collect(modelOf(server), userRequest("hello"));
      expect(callsOf(parts)).toEqual([
        { type: "tool-call", providerCallId: "c1", name: "Shell", argsText: received(args) },
      ]);
    });

    test("repeated and missing ids stay repeated and missing", async () => {
      const ids = ["same", "same", null, null];
      server.setScript([
        { calls: ids.map((id, at) => ({ id, name: "Shell", args: { command: `echo ${at}` } })) },
      ]);
      const parts = await collect(modelOf(server), userRequest("hello"));
      expect(callsOf(parts)).toEqual(
        ids.map((providerCallId, at) => ({
          type: "tool-call",
          providerCallId,
          name: "Shell",
          argsText: `{"command":"echo ${at}"}`,
        })),
      );
    });

    test("a call without a name is malformed", async () => {
      server.setScript([{ calls: [{ name: "", args: "{}" }] }]);
      const parts = await collect(modelOf(server), userRequest("hello"));
      expect(endOf(parts)).toBe("inference/malformed retryable");
      expect(callsOf(parts)).toEqual([]);
    });
  });

  describe("text that has no UTF-8 form", () => {
    test("a lone surrogate from the model is replaced", async () => {
      server.setScript([{ text: "a\ud800b" }]);
      expect(textOf(await collect(modelOf(server), userRequest("hello")))).toBe("a\ufffdb");
    });

    test("a character whose halves come in two deltas stays whole", async () => {
      const frames = ["\\ud83d", "\\ude00"].map(textFrame);
      server.setScript([{ fault: { kind: "data", text: frames.join("\n\ndata: ") } }]);
      expect(textOf(await collect(modelOf(server), userRequest("hello")))).toBe("😀");
    });

    test("lone surrogates and NULs in any part of a request are replaced before it is sent", async () => {
      server.setScript([{ text: "ok" }]);
      const bad = "x\udc00y\0z";
      const parts = await collect(
        modelOf(server),
        requestOf(
          [
            { role: "system", text: bad },
            { role: "user", text: bad },
            {
              role: "assistant",
              text: bad,
              calls: [
                { providerCallId: "c1", name: "Shell", argsText: JSON.stringify({ command: bad }) },
                { providerCallId: "c2", name: "Shell", argsText: `{"command": ${bad}` },
              ],
              reasoning: [],
            },
            { role: "tool", providerCallId: "c1", name: "Shell", text: bad, isError: false },
            { role: "tool", providerCallId: "c2", name: "Shell", text: "", isError: true },
          ],
          { tools: [{ name: "Shell", description: bad, parameters: { type: "object", description: bad } }] },
        ),
      );
      expect(endOf(parts)).toBe("finish stop");
      const sent = JSON.stringify(server.requests.at(-1)?.body);
      expect(sent).not.toMatch(/\\u0000|\\ud[89a-f]|\\\\ud[89a-f]|\\\\u0000/iu);
      expect(sent).toContain("x\ufffdy\ufffdz");
    });
  });
});
