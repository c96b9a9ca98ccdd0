import { expect, test } from "vitest";
import { createMessageLines } from "./message-lines.ts";

function read(pieces: readonly string[], limits = { messageMaxBytes: 40, junkLinesMax: 2 }) {
  const junk: string[] = [];
  const lines = createMessageLines({ ...limits, onJunk: (line) => junk.push(line.toString()) });
  const messages: object[] = [];
  for (const piece of pieces) {
    lines.push(Buffer.from(piece));
    for (let found = lines.next(); found !== undefined; found = lines.next()) messages.push(found.message);
  }
  return { messages, junk };
}

test("messages come out whole, however the bytes were cut", () => {
  const text = '{"a":1}\n{"b":"é"}\r\n\n{"c":3}\n';
  const bytes = [...Buffer.from(text)];
  const lines = createMessageLines({ messageMaxBytes: 40, junkLinesMax: 2, onJunk: () => undefined });
  const messages: object[] = [];
  for (const byte of bytes) {
    lines.push(Buffer.from([byte]));
    for (let found = lines.next(); found !== undefined; found = lines.next()) messages.push(found.message);
  }
  expect(messages).toEqual([{ a: 1 }, { b: "é" }, { c: 3 }]);
  expect(read([text]).messages).toEqual(messages);
});

test("what is no message is passed over and goes to the log", () => {
  const { messages, junk } = read(['Listening on stdio\n{"a":1}\n[1]\n7\n{"b":2}\n']);
  expect(messages).toEqual([{ a: 1 }, { b: 2 }]);
  expect(junk).toEqual(["Listening on stdio", "[1]", "7"]);
});

test("too much of what is no message ends the connection", () => {
  expect(() => read(["a\nb\nc\n"])).toThrow(expect.objectContaining({ code: "mcp/malformed" }));
});

test("a line that is too long ends the connection before its end has come", () => {
  expect(() => read([`{"a":"${"x".repeat(50)}`])).toThrow(expect.objectContaining({ code: "mcp/too-large" }));
});
