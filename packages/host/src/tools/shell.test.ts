import { BoxError, brandId, type ExecutionId } from "@sand/protocol";
import { createVirtualClock } from "@sand/testkit";
import { expect, test } from "vitest";
import { invokeTool } from "../../test/invoke-tool.ts";
import { createScriptedBox } from "../../test/scripted-box.ts";
import { type BoxPort, startCursor } from "../box/box-port.ts";
import { createTools } from "./create-tools.ts";
import { shellSettleMs } from "./limits.ts";

const callId = brandId<ExecutionId>("call-1");

function setUp(...script: Parameters<typeof createScriptedBox>) {
  const scripted = createScriptedBox(...script);
  const clock = createVirtualClock();
  return { ...scripted, clock, tools: createTools({ box: scripted.box, clock }) };
}

test("a finished command settles as ok with its exit code first and its output as captured", async () => {
  const { tools, starts } = setUp((execution) => {
    execution.output("one\n");
    execution.output("two\n", "stderr");
    execution.output("three\n");
    execution.exit({ code: 3 });
  });
  const live: string[] = [];
  const settled = await invokeTool(
    tools,
    "Shell",
    { command: "x", cwd: "sub" },
    { onOutput: (text) => live.push(text) },
  );
  expect([settled.outcome, settled.text, settled.outputHandle]).toEqual([
    "ok",
    "exit code 3\none\ntwo\nthree\n",
    null,
  ]);
  expect(settled.details).toMatchObject({ exitCode: 3, totalBytes: 14, omittedBytes: 0, lossy: false });
  expect(live).toEqual(["one\n", "two\n", "three\n"]);
  expect(starts[0]).toMatchObject({
    command: { kind: "shell", text: "x" },
    cwd: "sub",
    killMs: 600_000,
    background: false,
  });
});

test("how a command ended decides outcome and first line", async () => {
  const cases: readonly [exit: Parameters<typeof endWith>[0], outcome: string, line: string][] = [
    [{ code: 0 }, "ok", "exit code 0"],
    [{ code: 127 }, "ok", "exit code 127 (command not found)"],
    [{ code: null, signal: "SIGSEGV", reason: "signaled" }, "ok", "ended by SIGSEGV"],
    [
      { code: null, signal: "SIGKILL", reason: "signaled", oomKilled: true },
      "ok",
      "ended by SIGKILL (out of memory)",
    ],
    [
      { code: null, signal: "SIGTERM", reason: "timed-out", timedOut: true },
      "error",
      "timed out after 600 s: the command and everything in its group was stopped",
    ],
    [
      { code: null, reason: "spawn-failed", message: "no such folder" },
      "error",
      "the command could not be started: no such folder",
    ],
  ];
  for (const [exit, outcome, line] of cases) {
    const settled = await endWith(exit);
    expect([settled.outcome, settled.text]).toEqual([outcome, `${line}\n(no output)`]);
  }
});

test("a run that is told whole with its start is settled from that, and not asked for again", async () => {
  const { box } = createScriptedBox((execution) => {
    execution.output("all of it\n");
    execution.exit({ code: 4 });
  });
  const waits: unknown[] = [];
  const settling: BoxPort = {
    ...box,
    async start(spec, options) {
      waits.push(options?.settleMs);
      const started = await box.start(spec);
      const page = await box.read(spec.executionId, startCursor, { waitMs: 0, bytesMax: 1_000_000 });
      return started.outcome === "started" && page.outcome === "ok"
        ? { ...started, events: page.events }
        : started;
    },
    attach: () => expect.unreachable("nothing is left to be read"),
  };
  const settled = await invokeTool(createTools({ box: settling, clock: createVirtualClock() }), "Shell", {
    command: "x",
  });
  expect([settled.outcome, settled.text]).toEqual(["ok", "exit code 4\nall of it\n"]);
  expect(waits).toEqual([shellSettleMs]);
});

function endWith(
  exit: Parameters<Parameters<Parameters<typeof createScriptedBox>[0] & object>[0]["exit"]>[0] & object,
) {
  const { tools } = setUp((execution) => execution.exit(exit));
  return invokeTool(tools, "Shell", { command: "x" });
}

test("characters that are split over chunks and interleaved with the other stream come out whole", async () => {
  const bytes = Buffer.from("你😀");
  const { tools } = setUp((execution) => {
    execution.output(bytes.subarray(0, 2));
    execution.output("err", "stderr");
    execution.output(bytes.subarray(2, 5));
    execution.output(bytes.subarray(5));
    execution.exit();
  });
  const settled = await invokeTool(tools, "Shell", { command: "x" });
  expect(settled.text).toBe("exit code 0\nerr你😀");
  expect(settled.details).toMatchObject({ lossy: false });
});

test("bytes that aren't text are said to be replaced", async () => {
  const { tools } = setUp((execution) => {
    execution.output(Uint8Array.of(0x61, 0xff, 0x00, 0x0a));
    execution.exit();
  });
  const settled = await invokeTool(tools, "Shell", { command: "x" });
  expect(settled.text).toContain("a\ufffd\u2400\n[some bytes were not UTF-8");
  expect(settled.details).toMatchObject({ lossy: true });
});

test("a long output is cut and names a handle under which exactly the left-out bytes can be read", async () => {
  const whole = Array.from({ length: 20_000 }, (_, index) => `line ${index} é\n`).join("");
  const { tools } = setUp((execution) => {
    for (let at = 0; at < whole.length; at += 5_000) execution.output(whole.slice(at, at + 5_000));
    execution.exit();
  });
  const settled = await invokeTool(tools, "Shell", { command: "x" });
  expect(settled.outputHandle).toBe("exec:call-1");
  const cut = /\[(\d+) bytes, \d+ lines left out here: bytes (\d+) to (\d+)\]\n/.exec(settled.text);
  const [from, to] = [Number(cut?.[2]), Number(cut?.[3])];
  const bytes = Buffer.from(whole);
  let read = "";
  for (let at = from; at < to; ) {
    const page = await invokeTool(tools, "ReadFile", {
      handle: "exec:call-1",
      offset: at,
      limit: Math.min(to - at, 32_768),
    });
    const end = Number(page.details.to);
    expect(page.text).toContain(`exec:call-1 (exit code 0): bytes ${at} to ${end} of ${bytes.length}\n`);
    const body = Buffer.from(page.text.slice(page.text.indexOf("\n") + 1));
    read += body.subarray(0, end - at).toString();
    at = end;
  }
  expect(read).toBe(bytes.subarray(from, to).toString());
  const shown = settled.text.slice("exit code 0\n".length).split(/\[\d+ bytes[^\n]*\]\n/);
  expect(bytes.subarray(0, from).toString()).toBe(shown[0]);
  expect(shown[1]?.startsWith(bytes.subarray(to).toString())).toBe(true);
});

test("what the spool has dropped is said, in the result and in a read of the handle", async () => {
  const { tools } = setUp((execution) => {
    execution.output("begin\n");
    execution.gap(6, 1_000_006);
    execution.output("end\n");
    execution.exit();
  });
  const settled = await invokeTool(tools, "Shell", { command: "x" });
  expect(settled.text).toContain(
    "begin\n\n[1000000 bytes are missing here: stdout, dropped from the spool]\nend\n",
  );
  expect(settled.details).toMatchObject({ lostBytes: 1_000_000 });
  const page = await invokeTool(tools, "ReadFile", { handle: "exec:call-1", offset: 999_000, limit: 2_000 });
  expect(page.text).toContain("[bytes 6 to 1000006 are missing here: stdout, dropped from the spool]\nend\n");
});

test("an interrupted command is stopped with TERM, then KILL, and keeps its output", async () => {
  const interrupt = new AbortController();
  const { tools, execution } = setUp((execution) => execution.output("so far\n"));
  const running = invokeTool(
    tools,
    "Shell",
    { command: "x" },
    { signal: interrupt.signal, onOutput: () => interrupt.abort() },
  );
  const settled = await running;
  expect([settled.outcome, settled.text]).toEqual([
    "interrupted",
    "interrupted: the command was stopped (ended by SIGTERM); its output so far:\nso far\n",
  ]);
  expect(execution(callId)?.signals).toEqual([{ name: "SIGTERM", scope: "tree", killAfterMs: 2_000 }]);
});

test("an interruption before the start starts nothing", async () => {
  const { tools, starts } = setUp();
  const settled = await invokeTool(tools, "Shell", { command: "x" }, { signal: AbortSignal.abort() });
  expect([settled.outcome, starts.length]).toEqual(["interrupted", 0]);
});

test("an interrupted call that an earlier process began is found and stopped, and not started", async () => {
  const { tools, starts, execution } = setUp((execution) => execution.output("earlier\n"));
  const first = new AbortController();
  const abandoned = invokeTool(tools, "Shell", { command: "x" }, { signal: first.signal });
  const settled = await invokeTool(
    tools,
    "Shell",
    { command: "x" },
    { signal: AbortSignal.abort(), resumed: true },
  );
  await abandoned;
  expect([settled.outcome, starts.length, execution(callId)?.signals.length]).toEqual(["interrupted", 1, 1]);
  const never = await invokeTool(
    tools,
    "Shell",
    { command: "x" },
    { id: "call-2", signal: AbortSignal.abort(), resumed: true },
  );
  expect([never.outcome, starts.length]).toEqual(["interrupted", 1]);
  expect(never.text).toContain("no record of the command");
});

test("a command that survives its stop is given up after the limit and said so", async () => {
  const interrupt = new AbortController();
  const { tools, clock } = setUp(undefined, () => {});
  const running = invokeTool(tools, "Shell", { command: "x" }, { signal: interrupt.signal });
  await clock.advance(0);
  interrupt.abort();
  await clock.advance(0);
  await clock.advance(12_000);
  const settled = await running;
  expect([settled.outcome, settled.details.end]).toEqual(["interrupted", "unconfirmed"]);
});

test("a resumed call collects everything from the beginning and starts nothing again", async () => {
  const { tools, starts } = setUp((execution) => {
    execution.output("once\n");
    execution.exit();
  });
  const first = await invokeTool(tools, "Shell", { command: "x" });
  const again = await invokeTool(tools, "Shell", { command: "x" }, { resumed: true });
  expect([again, starts.length]).toEqual([first, 1]);
});

test("an end that nobody recorded is unknown, and the text says that it was not run again", async () => {
  const { tools } = setUp((execution) => {
    execution.output("half\n");
    execution.vanish("the machine was restarted");
  });
  const settled = await invokeTool(tools, "Shell", { command: "x" });
  expect(settled.outcome).toBe("unknown");
  expect(settled.text).toContain("may or may not have done its work. It was not run again.");
  expect(settled.text).toContain("half\n");
});

test("an execution that the box has forgotten after its start is unknown", async () => {
  const { box } = setUp();
  const forgetful = { ...box, attach: () => failing(new BoxError("exec/unknown-execution", "gone")) };
  const settled = await invokeTool(createTools({ box: forgetful, clock: createVirtualClock() }), "Shell", {
    command: "x",
  });
  expect(settled.outcome).toBe("unknown");
});

test("a box that can't be reached is thrown, so that the loop waits and asks again under the same id", async () => {
  const { box } = setUp();
  const gone = { ...box, attach: () => failing(new BoxError("box/unavailable", "no daemon")) };
  const running = invokeTool(createTools({ box: gone, clock: createVirtualClock() }), "Shell", {
    command: "x",
  });
  await expect(running).rejects.toMatchObject({ code: "box/unavailable" });
});

// biome-ignore lint/correctness/useYield: it fails before its first event
async function* failing(error: BoxError): AsyncGenerator<never> {
  throw error;
}

test("a stream that ends without an end of the command is the box's failure and no result", async () => {
  const { box } = setUp();
  const cut = { ...box, attach: async function* () {} };
  const running = invokeTool(createTools({ box: cut, clock: createVirtualClock() }), "Shell", {
    command: "x",
  });
  await expect(running).rejects.toMatchObject({ code: "box/unavailable" });
});

test("an execution that stays without an end long past its limit is the box's failure", async () => {
  const { tools, clock } = setUp();
  const running = invokeTool(tools, "Shell", { command: "x", timeoutMs: 5_000 });
  const failed = expect(running).rejects.toMatchObject({ code: "box/unavailable" });
  await clock.advance(0);
  await clock.advance(64_999);
  expect(clock.sleeperCount()).toBe(1);
  await clock.advance(1);
  await failed;
});

test("a stop that can't be delivered is tried again while the daemon restarts", async () => {
  const interrupt = new AbortController();
  const scripted = createScriptedBox();
  const clock = createVirtualClock();
  let tries = 0;
  const signal: typeof scripted.box.signal = (...request) => {
    tries += 1;
    return tries < 3
      ? Promise.reject(new BoxError("box/unavailable", "restarting"))
      : scripted.box.signal(...request);
  };
  const tools = createTools({ box: { ...scripted.box, signal }, clock });
  const running = invokeTool(tools, "Shell", { command: "x" }, { signal: interrupt.signal });
  await clock.advance(0);
  interrupt.abort();
  await clock.advance(0);
  await clock.advance(1_000);
  expect([(await running).outcome, tries]).toEqual(["interrupted", 3]);
});

test("a background command returns at once with its handle, has no limit, and can be read while it runs", async () => {
  const { tools, starts, execution } = setUp((execution) => execution.output("listening\n"));
  const settled = await invokeTool(tools, "Shell", { command: "serve", background: true });
  expect([settled.outcome, settled.outputHandle, starts[0]?.killMs, starts[0]?.background]).toEqual([
    "ok",
    "exec:call-1",
    null,
    true,
  ]);
  const page = await invokeTool(tools, "ReadFile", { handle: "exec:call-1" });
  expect(page.text).toBe("exec:call-1 (still running): bytes 0 to 10 of 10 so far\nlistening\n");
  execution(callId)?.exit({ code: 1 });
  expect((await invokeTool(tools, "ReadFile", { handle: "exec:call-1" })).text).toContain("(exit code 1)");
});

test("a background command that fails at once is reported like any other", async () => {
  const { tools } = setUp((execution) => {
    execution.output("not found\n", "stderr");
    execution.exit({ code: 127 });
  });
  const settled = await invokeTool(tools, "Shell", { command: "srve", background: true });
  expect(settled.text).toBe("exit code 127 (command not found)\nnot found\n");
});

test("a start that the box refuses is an error with its code", async () => {
  const { box } = setUp();
  const refused = {
    outcome: "refused" as const,
    code: "exec/sandbox-unavailable" as const,
    message: "bwrap is missing",
  };
  const tools = createTools({ box: { ...box, start: async () => refused }, clock: createVirtualClock() });
  const settled = await invokeTool(tools, "Shell", { command: "x" });
  expect([settled.outcome, settled.text, settled.details]).toEqual([
    "error",
    "The command was not started: bwrap is missing (exec/sandbox-unavailable)",
    { code: "exec/sandbox-unavailable" },
  ]);
});

test("an agent can't read another agent's output", async () => {
  const { tools } = setUp((execution) => {
    execution.output("private\n");
    execution.exit();
  });
  await invokeTool(tools, "Shell", { command: "x" });
  const settled = await invokeTool(tools, "ReadFile", { handle: "exec:call-1" }, { agent: "other" });
  expect([settled.outcome, settled.text]).toEqual(["error", "exec:call-1 is not an output of this agent."]);
});
