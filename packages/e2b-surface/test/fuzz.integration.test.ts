/** Malformed requests from a seed: each is answered with what is wrong, never with a 500, and nothing grows. */
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { createSeededRandom, type SeededRandom } from "@sand/testkit";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { type E2bBox, slowMs, startE2bBox, token } from "./e2b-box.ts";

vi.setConfig({ testTimeout: slowMs, hookTimeout: slowMs });

let box: E2bBox;
beforeAll(async () => {
  box = await startE2bBox();
});
afterAll(() => box.dispose());

const requestsMax = 600;
/** what may be said; 500 would be a fault of ours */
const allowed = new Set([
  200, 204, 206, 304, 400, 401, 403, 404, 406, 409, 412, 413, 415, 416, 429, 431, 501, 504, 507,
]);

const rpcs = [
  ...[
    "List",
    "Start",
    "Connect",
    "Update",
    "StreamInput",
    "SendInput",
    "SendSignal",
    "CloseStdin",
    "Nothing",
  ].map((name) => `/process.Process/${name}`),
  ...["Stat", "MakeDir", "Move", "ListDir", "Remove", "WatchDir", "CreateWatcher", "GetWatcherEvents"].map(
    (name) => `/filesystem.Filesystem/${name}`,
  ),
] as const;

/** Nothing that could hurt the machine, whichever verb gets it: all of it lies within the box's own home. */
const texts = [
  "",
  "a",
  "a/b",
  "a/../b",
  "~",
  "~/c",
  "~root",
  "a\0b",
  "x".repeat(5000),
  "ü🦀",
  "-1",
  "%00",
] as const;

function value(random: SeededRandom, depth = 0): unknown {
  const kind = random.whole(0, depth > 2 ? 4 : 6);
  if (kind === 0) return random.pick(texts);
  if (kind === 1) return random.whole(-5, 2 ** 33);
  if (kind === 2) return random.chance(0.5) ? null : true;
  if (kind === 3) return random.word(12);
  if (kind === 4) return Buffer.from(random.bytes(20)).toString("base64");
  if (kind === 5) return [value(random, depth + 1), value(random, depth + 1)];
  return message(random, depth + 1);
}

/** Field names that are known, so that a mutation gets past the parser. Nothing here starts a program that exists. */
function message(random: SeededRandom, depth = 0): Record<string, unknown> {
  const names = [
    "process",
    "pid",
    "tag",
    "selector",
    "input",
    "stdin",
    "pty",
    "size",
    "signal",
    "path",
    "depth",
    "cwd",
  ];
  const more = [
    "source",
    "destination",
    "recursive",
    "watcherId",
    "event",
    "start",
    "data",
    "keepalive",
    "envs",
    "cols",
  ];
  const [first = "path", ...rest] = [...names, ...more];
  const count = random.whole(0, 4);
  return Object.fromEntries(
    Array.from({ length: count }, () => [random.pick([first, ...rest]), value(random, depth + 1)]),
  );
}

function frame(random: SeededRandom, body: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt8(random.chance(0.9) ? 0 : random.whole(0, 255), 0);
  head.writeUInt32BE(random.chance(0.9) ? body.length : random.whole(0, 2 ** 31), 1);
  return Buffer.concat([head, body]);
}

interface Asked {
  readonly path: string;
  readonly init: RequestInit;
}

function rpc(random: SeededRandom): Asked {
  const text = Buffer.from(JSON.stringify(message(random)));
  const body = random.chance(0.8) ? text : Buffer.from(random.bytes(random.whole(0, 200)));
  const types = [
    "application/json",
    "application/proto",
    "application/connect+json",
    "application/connect+proto",
    "x",
  ];
  const type = random.pick([types[0] ?? "", ...types.slice(1)]);
  const whole = type.includes("connect+") ? frame(random, body) : body;
  const headers = {
    ...{ "content-type": type, "connect-protocol-version": "1", "connect-timeout-ms": "500" },
    ...(random.chance(0.1) ? { authorization: `Basic ${random.word(8)}` } : {}),
    ...(random.chance(0.1) ? { "keepalive-ping-interval": String(random.whole(-5, 5)) } : {}),
  };
  return {
    path: random.pick([rpcs[0] ?? "", ...rpcs.slice(1)]),
    init: { method: "POST", headers, body: new Uint8Array(whole) },
  };
}

function plain(random: SeededRandom): Asked {
  const query = new URLSearchParams({ path: random.pick(texts), username: random.pick(["", "user", "x"]) });
  const paths = [
    `/files?${query}`,
    "/files/compose",
    "/init",
    "/envs",
    "/files",
    `/${random.word(5)}`,
  ] as const;
  const boundary = random.word(6);
  const part = `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="${random.word(3)}"\r\n\r\nx\r\n`;
  const bodies = [
    JSON.stringify(message(random)),
    part,
    `${part}--${boundary}--\r\n`,
    random.word(30),
    "",
  ] as const;
  const types = [
    "application/json",
    `multipart/form-data; boundary=${boundary}`,
    "application/octet-stream",
  ] as const;
  const headers = {
    "content-type": random.pick(types),
    ...(random.chance(0.2) ? { range: `bytes=${random.whole(-9, 9)}-${random.whole(-9, 9)}` } : {}),
    ...(random.chance(0.2) ? { "content-encoding": random.pick(["gzip", "br", "x"]) } : {}),
    ...(random.chance(0.2) ? { "if-none-match": random.pick(["*", '"x"', "x,,"]) } : {}),
    ...(random.chance(0.2)
      ? { "accept-encoding": random.pick(["gzip", "*;q=0", "identity;q=0", ";;"]) }
      : {}),
  };
  const method = random.pick(["GET", "POST", "HEAD", "OPTIONS", "DELETE"]);
  const body = method === "POST" ? { body: random.pick(bodies) } : {};
  return { path: random.pick(paths), init: { method, headers, ...body } };
}

test("malformed requests get no 500, cut no connection off without reason, and leave nothing behind", async () => {
  const random = createSeededRandom(Math.floor(Math.random() * 2 ** 31));
  const before = box.descriptors();
  const wrong: string[] = [];
  for (let n = 0; n < requestsMax; n += 4) {
    await Promise.all(
      Array.from({ length: 4 }, async () => {
        const { path, init } = random.chance(0.6) ? rpc(random) : plain(random);
        const told = `${init.method} ${path.slice(0, 80)}`;
        try {
          const answer = await box.fetch(path, { ...init, signal: AbortSignal.timeout(30_000) });
          const text = await answer.text();
          if (!allowed.has(answer.status)) wrong.push(`${told}: ${answer.status} ${text.slice(0, 200)}`);
          if (/\bat .*\.ts:\d+/u.test(text)) wrong.push(`${told}: a stack leaves`);
        } catch (error) {
          wrong.push(`${told}: ${String(error)} ${String(error instanceof Error ? error.cause : "")}`);
        }
      }),
    );
  }
  expect(wrong, `seed ${random.seed}`).toEqual([]);
  // One of them may have removed the home.
  await box.sandbox.files.makeDir(box.home);
  expect((await box.sandbox.commands.run("echo alive")).stdout).toBe("alive\n");
  expect(box.log()).not.toMatch(/e2b\.failed|rpc\.failed|task-failed/u);
  expect(box.descriptors()).toBeLessThan(before + 100);
  const rssMib =
    Number(/VmRSS:\s+(\d+)/u.exec(readFileSync(`/proc/${box.child.pid}/status`, "utf8"))?.[1]) / 1024;
  expect(rssMib).toBeLessThan(400);
});

test("bytes that are no HTTP harm nobody", async () => {
  const random = createSeededRandom(Math.floor(Math.random() * 2 ** 31));
  const port = Number(new URL(box.url).port);
  const beginnings = [
    "",
    "GET /files?path=a HTTP/1.1\r\n",
    `POST /init HTTP/1.1\r\nx-access-token: ${token}\r\n`,
  ] as const;
  await Promise.all(
    Array.from({ length: 60 }, async () => {
      const bytes = Buffer.concat([Buffer.from(random.pick(beginnings)), Buffer.from(random.bytes(300))]);
      await new Promise<void>((resolve) => {
        const socket = connect({ host: "127.0.0.1", port });
        socket.on("error", () => undefined).on("close", () => resolve());
        socket.on("data", () => undefined);
        socket.end(bytes);
      });
    }),
  );
  expect((await fetch(`${box.url}/health`)).status).toBe(204);
});
