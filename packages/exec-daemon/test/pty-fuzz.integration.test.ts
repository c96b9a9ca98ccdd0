/** Junk in every place where the terminals' port takes something in: each gets a typed answer, and nothing falls over. */
import { connect as dial } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { until } from "./daemon-process.ts";
import { type PtyWorld, startPtyWorld } from "./pty-world.ts";

const patientMs = 120_000;
const rounds = 400;
let world: PtyWorld;
beforeAll(async () => {
  world = await startPtyWorld();
});
afterAll(() => world.dispose());

/** The same numbers for the same seed, so that a failure can be run again. */
function createRandom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const words = [
  "resize",
  "ack",
  "signal",
  "lease",
  "auth",
  "ping",
  "take",
  "INT",
  "constructor",
  "__proto__",
  "🦊",
  "\u0000",
];
const numbers = [0, -1, 1.5, 1e308, 2 ** 53, Number.NaN, 80, 1001];

function junkValue(random: (below: number) => number, depth = 0): unknown {
  const kind = random(depth > 2 ? 4 : 7);
  if (kind === 0) return words[random(words.length)];
  if (kind === 1) return numbers[random(numbers.length)];
  if (kind === 2) return null;
  if (kind === 3) return random(2) === 0;
  if (kind === 4) return Array.from({ length: random(4) }, () => junkValue(random, depth + 1));
  const names = [
    "type",
    "cols",
    "rows",
    "offset",
    "name",
    "action",
    "token",
    "argv",
    "env",
    "id",
    "cwd",
    "idleGraceMs",
  ];
  return Object.fromEntries(
    Array.from({ length: random(5) }, () => [
      names[random(names.length)] ?? "",
      junkValue(random, depth + 1),
    ]),
  );
}

test("frames of junk are answered or close their own connection, and the terminal lives on", {
  timeout: patientMs,
}, async () => {
  const random = createRandom(7);
  const id = await world.spawn(["/bin/cat"]);
  for (let round = 0; round < rounds / 10; round += 1) {
    const client = await world.attach(id, "takeover=1");
    for (let count = 0; count < 30 && client.socket.readyState === client.socket.OPEN; count += 1) {
      const bytes = Buffer.from(Array.from({ length: random(40) }, () => random(256)));
      const isText = random(2) === 0;
      client.socket.send(isText ? JSON.stringify(junkValue(random)) : bytes, { binary: !isText });
    }
    await client.close();
  }
  for (const { code } of await errorsOf(id)) expect(code).toMatch(/^(exec|terminal)\//u);
  const { body } = await world.call("GET", `/terminals/${id}`);
  expect(body).toMatchObject({ terminal: { id } });
});

/** What a last client hears when it says one thing of each kind that is wrong. */
async function errorsOf(id: string): Promise<readonly { readonly code: string }[]> {
  const client = await world.attach(id, "mode=view");
  for (const text of ["junk", "{}", '{"type":"resize","cols":1,"rows":1}']) client.socket.send(text);
  await until(
    "all are answered",
    () => client.control.filter(({ type }) => type === "error").length >= 3 || undefined,
  );
  const errors = client.control
    .filter(({ type }) => type === "error")
    .map(({ code }) => ({ code: String(code) }));
  await client.close();
  return errors;
}

test("requests of junk get a status of the 400s, never of the 500s", { timeout: patientMs }, async () => {
  const random = createRandom(11);
  const paths = [
    "/terminals",
    "/tickets",
    "/terminals/x/resize",
    "/terminals/%00",
    "/terminals/%zz/resize",
    "//",
    "/terminals/a/b/c",
  ];
  for (let round = 0; round < rounds; round += 1) {
    const value = junkValue(random);
    // A body that means something would start a real terminal each time.
    const body =
      typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value, junk: 1 } : value;
    const { status, body: answer } = await world.call(
      "POST",
      paths[random(paths.length)] ?? "/",
      body ?? null,
    );
    expect({ status, answer, ok: status >= 400 && status < 500 }).toMatchObject({ ok: true });
    expect(typeof answer.code).toBe("string");
  }
});

test("bytes that are no HTTP, and upgrades that are none, end their connection alone", {
  timeout: patientMs,
}, async () => {
  const random = createRandom(13);
  const heads = [
    "GET /terminals/x/attach HTTP/1.1\r\nhost: a\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\n",
    "GET /terminals/x/attach HTTP/1.1\r\nhost: a\r\nconnection: Upgrade\r\nupgrade: h2c\r\n\r\n",
    "GET http://[::bad HTTP/1.1\r\nhost: a\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\n",
    "POST /terminals HTTP/1.1\r\nhost: a\r\ncontent-length: -5\r\n\r\n",
  ];
  for (let round = 0; round < rounds / 4; round += 1) {
    const bytes = Buffer.from(Array.from({ length: random(200) }, () => random(256)));
    const socket = dial(world.terminals.port, "127.0.0.1");
    socket.on("error", () => undefined);
    socket.end(Buffer.concat([Buffer.from(heads[random(heads.length + 1)] ?? ""), bytes]));
    socket.resume();
    await new Promise((resolve) => socket.once("close", resolve));
  }
  expect((await world.call("GET", "/terminals")).status).toBe(200);
});
