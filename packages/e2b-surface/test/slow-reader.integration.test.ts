/** Clients that don't do what the SDK does: that read nothing, come late, or leave in the middle; and the other forms
 *  that the protocol has: binary messages, a stream of input, tags, keepalives. */
import { readFileSync } from "node:fs";
import { type IncomingMessage, request } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { Process, type ProcessEvent, ProcessSignal } from "@sand/protocol/e2b";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { type E2bBox, slowMs, startE2bBox, token, until } from "./e2b-box.ts";

vi.setConfig({ testTimeout: slowMs, hookTimeout: slowMs });

let box: E2bBox;
beforeAll(async () => {
  box = await startE2bBox();
});
afterAll(() => box.dispose());

const client = (useBinaryFormat = true) =>
  createClient(
    Process,
    createConnectTransport({
      ...{ baseUrl: box.url, httpVersion: "1.1", useBinaryFormat },
      interceptors: [
        (next) => (call) => {
          call.header.set("x-access-token", token);
          return next(call);
        },
      ],
    }),
  );

type InputMessage =
  Parameters<ReturnType<typeof client>["streamInput"]>[0] extends AsyncIterable<infer T> ? T : never;

const shell = (text: string) => ({ cmd: "/bin/sh", args: ["-c", text] });

function frame(message: object): Buffer {
  const body = Buffer.from(JSON.stringify(message));
  const head = Buffer.alloc(5);
  head.writeUInt32BE(body.length, 1);
  return Buffer.concat([head, body]);
}

/** A Start over bare HTTP, whose answer nobody reads unless the test does. */
function bareStart(text: string, timeoutMs: number) {
  const sent = request(`${box.url}/process.Process/Start`, {
    method: "POST",
    headers: {
      ...{ "content-type": "application/connect+json", "connect-protocol-version": "1" },
      ...{ "x-access-token": token, "connect-timeout-ms": String(timeoutMs) },
    },
  });
  sent.on("error", () => undefined);
  sent.end(frame({ process: shell(text), stdin: false }));
  const answered = new Promise<IncomingMessage>((resolve) => sent.once("response", resolve));
  return { sent, answered };
}

const rssMib = (): number =>
  Number(/VmRSS:\s+(\d+)/u.exec(readFileSync(`/proc/${box.child.pid}/status`, "utf8"))?.[1]) / 1024;

const isGone = (text: string) =>
  until(`nothing like ${text} runs`, async () => {
    const { stdout } = await box.sandbox.commands.run(`pgrep -x -f '${text}' || echo none`);
    return stdout === "none\n" ? true : undefined;
  });

test("a client that reads nothing costs no memory and holds nobody up", async () => {
  await box.sandbox.commands.run("true");
  const before = rssMib();
  const flood = bareStart("exec yes 1234567890", 600_000);
  const answer = await flood.answered;
  answer.pause();
  const times: number[] = [];
  for (let n = 0; n < 20; n += 1) {
    const startedMs = performance.now();
    expect((await fetch(`${box.url}/health`)).status).toBe(204);
    times.push(performance.now() - startedMs);
    await delay(50);
  }
  expect((await box.sandbox.commands.run("echo others go on")).stdout).toBe("others go on\n");
  expect(rssMib() - before).toBeLessThan(100);
  // The budget is 100 ms on a machine that has nothing else to do.
  expect(times.sort((a, b) => a - b)[10]).toBeLessThan(1000);
  flood.sent.destroy();
  const [running] = await box.sandbox.commands.list();
  await box.sandbox.commands.kill(running?.pid ?? 0);
  await isGone("yes 1234567890");
});

test("a late client of a flood gets its tail, and is told what is missing", async () => {
  const text = "head -c 30000000 /dev/zero | tr '\\0' x; echo; echo END; sleep 0.2";
  const handle = await box.sandbox.commands.run(text, { background: true });
  await handle.disconnect();
  await until("it has ended", async () =>
    (await box.sandbox.commands.list()).length === 0 ? true : undefined,
  );
  const { stdout } = await (await box.sandbox.commands.connect(handle.pid)).wait();
  expect(stdout.endsWith("x\nEND\n")).toBe(true);
  const missing = Number(
    /\n\[(\d+) bytes of output are no longer kept and left out here\]\n/u.exec(stdout)?.[1],
  );
  expect(missing).toBeGreaterThan(1_000_000);
  expect(stdout.replaceAll(/[^x]/gu, "").length + missing).toBeGreaterThan(29_999_000);
});

test("a start whose client leaves at any moment leaves no process", async () => {
  for (let ms = 0; ms < 40; ms += 2) {
    const { sent } = bareStart("exec sleep 7654", 4000);
    await delay(ms);
    sent.destroy();
  }
  await isGone("sleep 7654");
  expect((await box.sandbox.commands.run("echo still here")).stdout).toBe("still here\n");
});

describe.each([true, false])("the protocol's other forms, binary: %s", (isBinary) => {
  const events = async (answers: AsyncIterable<{ event?: ProcessEvent | undefined }>) => {
    const seen: ProcessEvent["event"][] = [];
    for await (const { event } of answers) if (event !== undefined) seen.push(event.event);
    return seen;
  };

  test("the first event is the start, the last one the end", async () => {
    const seen = await events(client(isBinary).start({ process: shell("echo out; exit 3"), stdin: false }));
    expect(seen.map((event) => event.case)).toEqual(["start", "data", "end"]);
    expect(seen.at(-1)?.value).toMatchObject({ exitCode: 3, exited: true, status: "exit status 3" });
  });

  test("a tag names a command for every verb, and input comes as a stream", async () => {
    const tag = `tag-${isBinary}`;
    const selector = { selector: { case: "tag", value: tag } } as const;
    const started = client(isBinary).start({ process: shell("cat; exit 6"), tag });
    const seen = events(started);
    await until("it is listed", async () =>
      (await client(isBinary).list({})).processes.some((row) => row.tag === tag) ? true : undefined,
    );
    async function* input(): AsyncGenerator<InputMessage> {
      yield { event: { case: "start", value: { process: selector } } } as const;
      for (const text of ["a", "b"]) {
        yield { event: { case: "keepalive", value: {} } } as const;
        const value = { input: { input: { case: "stdin", value: Buffer.from(text) } } } as const;
        yield { event: { case: "data", value } } as const;
      }
    }
    await client(isBinary).streamInput(input());
    await client(isBinary).closeStdin({ process: selector });
    const all = await seen;
    const out = all.flatMap((event) =>
      event.case === "data" && event.value.output.case === "stdout" ? [event.value.output.value] : [],
    );
    expect(Buffer.concat(out).toString()).toBe("ab");
    expect(all.at(-1)?.value).toMatchObject({ exitCode: 6 });
  });

  test("silence is filled as often as was asked for", async () => {
    const headers = { "keepalive-ping-interval": "1" };
    const seen = await events(
      client(isBinary).start({ process: shell("sleep 2.5"), stdin: false }, { headers }),
    );
    expect(seen.filter((event) => event.case === "keepalive").length).toBeGreaterThanOrEqual(1);
  });

  test("TERM is a signal of its own, and no signal is none", async () => {
    const process = { selector: { case: "tag", value: `term-${isBinary}` } } as const;
    const seen = events(client(isBinary).start({ process: shell("sleep 100"), tag: process.selector.value }));
    await until("it is listed", async () =>
      (await client(isBinary).list({})).processes.some((row) => row.tag === process.selector.value)
        ? true
        : undefined,
    );
    await expect(client(isBinary).sendSignal({ process })).rejects.toThrow("invalid_argument");
    await client(isBinary).sendSignal({ process, signal: ProcessSignal.SIGTERM });
    expect((await seen).at(-1)?.value).toMatchObject({
      exitCode: -1,
      exited: false,
      status: "signal: terminated",
    });
  });

  test.each<[string, () => Promise<unknown>, Code]>([
    ["no command", () => events(client(isBinary).start({})), Code.InvalidArgument],
    [
      "an empty command",
      () => events(client(isBinary).start({ process: { cmd: "" } })),
      Code.InvalidArgument,
    ],
    [
      "a tag that is too long",
      () => events(client(isBinary).start({ process: shell("true"), tag: "t".repeat(999) })),
      Code.InvalidArgument,
    ],
    ["no selector", () => events(client(isBinary).connect({})), Code.InvalidArgument],
    [
      "a pid of nothing",
      () => events(client(isBinary).connect({ process: { selector: { case: "pid", value: 0 } } })),
      Code.NotFound,
    ],
    [
      "an empty stream of input",
      () => client(isBinary).streamInput((async function* () {})()),
      Code.InvalidArgument,
    ],
    [
      "arguments without end",
      () => events(client(isBinary).start({ process: { cmd: "true", args: Array(5000).fill("a") } })),
      Code.InvalidArgument,
    ],
  ])("%s is the caller's mistake", async (_what, ask, code) => {
    const error = await ask().catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(ConnectError);
    expect(ConnectError.from(error).code).toBe(code);
  });
});
