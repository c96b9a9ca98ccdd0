import { createVirtualClock } from "@sand/testkit";
import { expect, test } from "vitest";
import { invokeTool } from "../../test/invoke-tool.ts";
import { createScriptedBox } from "../../test/scripted-box.ts";
import { createTools } from "./create-tools.ts";

function setUp(content: string | Buffer) {
  const scripted = createScriptedBox();
  scripted.files.set("f", Buffer.from(content));
  const tools = createTools({ box: scripted.box, clock: createVirtualClock() });
  return {
    ...scripted,
    read: (range: { offset?: number; limit?: number } = {}) =>
      invokeTool(tools, "ReadFile", { path: "f", ...range }),
    tools,
  };
}

/** the answer's first line without the digest, and what follows it */
async function shown(content: string | Buffer, range: { offset?: number; limit?: number } = {}) {
  const { text } = await setUp(content).read(range);
  const [header = "", ...rest] = text.split("\n");
  return [header.replace(/, sha256 [0-9a-f]{64}$/, ""), rest.join("\n")];
}

test("a file is read with its lines, size and digest named", async () => {
  const settled = await setUp("a\nb\n").read();
  expect(settled.outcome).toBe("ok");
  expect(settled.text).toBe(
    "f: lines 1-2 of 2, 4 bytes, sha256 fdcad3a9cd10c19f2a2ea2c8c0e1c4c9ae27bf8d63c25d28a1d84cf2c5a35bd7\na\nb\n".replace(
      /sha256 \w+/,
      `sha256 ${String(settled.details.sha256)}`,
    ),
  );
  expect(settled.details).toMatchObject({
    firstLine: 1,
    lastLine: 2,
    isEnd: true,
    totalBytes: 4,
    lossy: false,
  });
});

test("a range of lines is exact, and what follows is said", async () => {
  const cases: readonly [content: string, offset: number, limit: number, header: string, body: string][] = [
    ["a\nb\nc\n", 1, 1, "f: lines 1-1, 6 bytes", "a\n[more follows: offset 2]"],
    ["a\nb\nc\n", 2, 2, "f: lines 2-3 of 3, 6 bytes", "b\nc\n"],
    ["a\nb\nc", 3, 5, "f: lines 3-3 of 3, 5 bytes", "c\n[no line end at the end of the file]"],
    ["a\r\nb\r\n", 2, 1, "f: lines 2-2 of 2, 6 bytes", "b\r\n"],
    ["\n\n\n", 2, 1, "f: lines 2-2, 3 bytes", "\n[more follows: offset 3]"],
    ["a\nb\n", 0, 1, "f: lines 1-1, 4 bytes", "a\n[more follows: offset 2]"],
  ];
  for (const [content, offset, limit, header, body] of cases) {
    expect([content, offset, await shown(content, { offset, limit })]).toEqual([
      content,
      offset,
      [header, body],
    ]);
  }
});

test("a line beyond the end is an error that tells how many there are", async () => {
  for (const content of ["a\nb\n", "a\nb"]) {
    const settled = await setUp(content).read({ offset: 3 });
    expect([settled.outcome, settled.text]).toEqual([
      "error",
      "f: there is no line 3 to show: the file has only 2 lines",
    ]);
  }
});

test("reading on from the offset that is named gives the whole file and no line twice", async () => {
  const whole = Array.from({ length: 60_000 }, (_, index) => `${index} é${"x".repeat(index % 50)}\n`).join(
    "",
  );
  const { read } = setUp(whole);
  let text = "";
  for (let offset = 1; ; ) {
    const settled = await read({ offset });
    const body = settled.text.slice(settled.text.indexOf("\n") + 1);
    text += body.replace(/\[more follows: offset \d+\]$/, "");
    expect(Buffer.byteLength(settled.text)).toBeLessThan(33 * 1024);
    if (settled.details.isEnd === true) break;
    offset = Number(settled.details.lastLine) + 1;
  }
  expect(text).toBe(whole);
});

test("a line that is too long is shown in part and said so", async () => {
  const { text, details } = await setUp(`${"x".repeat(1_000_000)}\nnext\n`).read();
  expect(text).toContain("[line 1 is too long and shown in part");
  expect(text).toContain("more follows: offset 2]");
  expect(details).toMatchObject({ firstLine: 1, lastLine: 1 });
});

test("bytes that aren't UTF-8 are shown replaced and said so; a binary file isn't shown", async () => {
  const latin = await setUp(Buffer.from([0x63, 0x61, 0x66, 0xe9, 0x0a])).read();
  expect([latin.outcome, latin.details.lossy]).toEqual(["ok", true]);
  expect(latin.text).toContain("caf\ufffd\n[bytes that aren't UTF-8");
  const cutOff = await setUp(Buffer.from([0x61, 0xe4, 0xbd])).read();
  expect([cutOff.text.includes("\na\ufffd\n"), cutOff.details.lossy]).toEqual([true, true]);
  const binary = await setUp(Buffer.from([0x7f, 0x45, 0x00, 0x01])).read();
  expect([binary.outcome, binary.details.binary]).toEqual(["error", true]);
});

test("an empty file is said to be empty", async () => {
  expect((await setUp("").read()).text).toContain("f: empty file, 0 bytes");
});

test("a refusal of the box is an error with its code", async () => {
  const { tools } = setUp("");
  const settled = await invokeTool(tools, "ReadFile", { path: "missing" });
  expect([settled.outcome, settled.details]).toEqual(["error", { code: "file/not-found" }]);
});

test("exactly one of path and handle is taken, and only a handle of ours", async () => {
  const { tools } = setUp("");
  for (const args of [
    {},
    { path: "f", handle: "exec:x" },
    { handle: "nonsense" },
    { handle: "exec:" },
    { handle: "exec:none" },
  ]) {
    expect((await invokeTool(tools, "ReadFile", args)).outcome).toBe("error");
  }
});

test("an interruption while reading settles as interrupted", async () => {
  const { tools, box } = setUp("x");
  const interrupt = new AbortController();
  const slow = { ...box, files: { ...box.files, read: () => Promise.reject(interrupt.signal.reason) } };
  const running = invokeTool(
    createTools({ box: slow, clock: createVirtualClock() }),
    "ReadFile",
    { path: "f" },
    { signal: interrupt.signal },
  );
  interrupt.abort();
  expect((await running).outcome).toBe("interrupted");
  expect((await invokeTool(tools, "ReadFile", { path: "f" }, { signal: AbortSignal.abort() })).outcome).toBe(
    "interrupted",
  );
});
