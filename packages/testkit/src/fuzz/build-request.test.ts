import { expect, test } from "vitest";
import { createSeededRandom } from "../seeded-random.ts";
import { buildRequest } from "./build-request.ts";
import { daemonTargets, gatewayTargets } from "./sample-requests.ts";

const targets = [...gatewayTargets({ agentId: "agent", nonce: "nonce" }), ...daemonTargets()];
const bearers = { gateway: "gateway-token", daemon: "daemon-token" };

function build(seed: number, count: number) {
  const random = createSeededRandom(seed);
  return targets.flatMap((target) =>
    Array.from({ length: count }, () => buildRequest(random, target, bearers)),
  );
}

test("the same seed builds the same requests", () => {
  expect(build(5, 3)).toEqual(build(5, 3));
});

test("most requests carry the bearer of the server that they go to, and no other", () => {
  const requests = build(1, 20);
  const carrying = requests.filter((request) => request.hasBearer);
  expect(carrying.length / requests.length).toBeGreaterThan(0.75);
  for (const request of carrying) {
    expect(request.bytes.includes(`authorization: Bearer ${bearers[request.server]}\r\n`)).toBe(true);
  }
  const sent = requests.filter((request) =>
    request.bytes.includes(`authorization: Bearer ${bearers[request.server]}\r\n`),
  );
  expect(sent.length).toBe(carrying.length);
});

test("a request that an answer is owed to says its own length", () => {
  for (const { bytes, isWellFramed } of build(2, 20)) {
    if (!isWellFramed) continue;
    const text = bytes.toString("latin1");
    const bodyLength = text.length - text.indexOf("\r\n\r\n") - 4;
    const length = /\r\ncontent-length: (\d+)\r\n/u.exec(text)?.[1];
    if (length === undefined) expect(text).toContain("transfer-encoding: chunked");
    else expect(Number(length)).toBe(bodyLength);
  }
});

test("nothing that is sent could hurt the machine: no path leads far away", () => {
  for (const { bytes } of build(3, 20)) {
    const text = bytes.toString("latin1");
    expect(text).not.toMatch(/\.\.\/\.\.\/|"\/(?:etc|bin|usr|root|home|var)/u);
  }
});
