/**
 * A sound example of each thing that the terminals' port takes, and junk frames for the WebSocket of one terminal. The
 * terminal's program only repeats its input, and it ignores what could end it.
 */
import type { JsonObject } from "@sand/protocol";
import type { SeededRandom } from "../seeded-random.ts";
import type { FuzzTarget } from "./fuzz-target.ts";
import { mutateJson } from "./mutate-json.ts";

const ending = { argv: ["true", "x"], cwd: "", env: { FUZZ: "1" }, cols: 80, rows: 24 };

/** a terminal that the fuzz looks at; it is made before the first input */
export const echoTerminal = {
  id: "fuzz-echo",
  argv: ["/bin/sh", "-c", "trap '' HUP INT TERM QUIT TSTP USR1 USR2; stty raw -echo; exec cat"],
};

export function terminalTargets(): readonly FuzzTarget[] {
  const of = (method: string, path: string, more: Partial<FuzzTarget> = {}): FuzzTarget => ({
    name: `terminals: ${method} ${path.split("?")[0]}`,
    ...{ server: "terminals", method, path, body: undefined, isOpenEnded: false, ...more },
  });
  return [
    of("GET", "/terminals"),
    of("POST", "/terminals", {
      body: { id: "fuzz-ends", ...ending, onDisconnect: "kill", idleGraceMs: 1000 },
    }),
    of("GET", "/terminals/fuzz-ends"),
    of("POST", `/terminals/${echoTerminal.id}/resize`, { body: { cols: 80, rows: 24 } }),
    of("DELETE", "/terminals/fuzz-ends"),
    of("POST", "/tickets", { body: { terminalId: echoTerminal.id, mode: "view" } }),
    of("GET", `/terminals/${echoTerminal.id}/attach`),
    of("GET", `/terminals/${echoTerminal.id}/attach?takeover=1&since=0&cols=90&rows=30`, { isSocket: true }),
    of("GET", `/terminals/${echoTerminal.id}/attach?mode=view`, { isSocket: true }),
  ];
}

const messages: readonly [JsonObject, ...JsonObject[]] = [
  { type: "resize", cols: 90, rows: 20 },
  { type: "ack", offset: 0 },
  { type: "signal", name: "WINCH" },
  { type: "lease", action: "take" },
  { type: "lease", action: "release" },
  { type: "auth", token: "zq" },
  { type: "ping", nonce: "zq" },
];

const framesMax = 12;
const opcodes = { text: 1, binary: 2, close: 8 } as const;

/** Frames of one connection, most of them whole; the last one says goodbye, so that the server ends it. */
export function buildFrames(random: SeededRandom): Buffer {
  const frames = Array.from({ length: random.whole(1, framesMax) }, () => oneFrame(random));
  return Buffer.concat([...frames, wholeFrame(random, opcodes.close, Buffer.of(0x03, 0xe8))]);
}

function oneFrame(random: SeededRandom): Buffer {
  const kind = random.next();
  if (kind < 0.35)
    return wholeFrame(
      random,
      opcodes.text,
      Buffer.from(JSON.stringify(mutateJson(random, random.pick(messages)))),
    );
  if (kind < 0.5) return wholeFrame(random, opcodes.text, Buffer.from(JSON.stringify(random.pick(messages))));
  if (kind < 0.7) return wholeFrame(random, opcodes.binary, Buffer.from([0, ...random.bytes(200)]));
  if (kind < 0.85)
    return wholeFrame(random, opcodes.binary, Buffer.from(random.bytes(random.whole(0, 3_000))));
  if (kind < 0.95)
    return wholeFrame(random, random.whole(0, 15), Buffer.from(random.bytes(random.whole(0, 130))));
  return Buffer.from(random.bytes(random.whole(1, 40)));
}

/** Masked, as a client's frames must be; now and then it isn't, or its head is wrong. */
function wholeFrame(random: SeededRandom, opcode: number, payload: Buffer): Buffer {
  const isMasked = random.chance(0.98);
  const first = (random.chance(0.97) ? 0x80 : random.whole(0, 7) << 4) | opcode;
  const mask = Buffer.from(random.bytes(4));
  const head = [Buffer.of(first), lengthOf(payload.length, isMasked)];
  if (!isMasked) return Buffer.concat([...head, payload]);
  return Buffer.concat([...head, mask, payload.map((byte, at) => byte ^ (mask[at % 4] ?? 0))]);
}

function lengthOf(length: number, isMasked: boolean): Buffer {
  const bit = isMasked ? 0x80 : 0;
  if (length < 126) return Buffer.of(bit | length);
  if (length <= 0xffff) return Buffer.of(bit | 126, length >> 8, length & 0xff);
  const head = Buffer.alloc(9);
  head.writeUInt8(bit | 127, 0);
  head.writeBigUInt64BE(BigInt(length), 1);
  return head;
}
