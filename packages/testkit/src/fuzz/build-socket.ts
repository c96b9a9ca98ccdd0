/** Builds one connection to a terminal as bytes: the upgrade, right or wrong, and frames behind it. */
import type { SeededRandom } from "../seeded-random.ts";
import type { FuzzRequest } from "./build-request.ts";
import type { FuzzTarget } from "./fuzz-target.ts";
import { buildFrames } from "./sample-terminals.ts";

const bearerChance = 0.9;
const soundChance = 0.9;

export function buildSocket(random: SeededRandom, target: FuzzTarget, bearer: string): FuzzRequest {
  const hasBearer = random.chance(bearerChance);
  const isSound = random.chance(soundChance);
  const head = [
    `${target.method} ${target.path} HTTP/1.1`,
    ...["host: 127.0.0.1", "connection: Upgrade", "upgrade: websocket"],
    `sec-websocket-key: ${Buffer.from(random.bytes(16)).toString("base64")}`,
    "sec-websocket-version: 13",
    ...(hasBearer ? [`authorization: Bearer ${bearer}`] : []),
  ];
  if (!isSound) head[random.whole(1, head.length - 1)] = breakHeader(random);
  return {
    ...{ target: target.name, server: target.server, hasBearer, isOpenEnded: false },
    bytes: Buffer.concat([Buffer.from(`${head.join("\r\n")}\r\n\r\n`, "latin1"), buildFrames(random)]),
    // After an upgrade no answer is owed: closing is one.
    isWellFramed: false,
  };
}

function breakHeader(random: SeededRandom): string {
  return random.pick([
    "upgrade: h2c",
    "sec-websocket-version: 99",
    "sec-websocket-key: zq",
    "sec-websocket-protocol: zq,,zq",
    "sec-websocket-extensions: permessage-deflate; zq=1",
    "origin: http://evil.example",
    `authorization: Bearer ${"z".repeat(random.whole(1, 6_000))}`,
    "connection: close",
  ] as const);
}
