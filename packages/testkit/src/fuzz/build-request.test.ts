import { Artifacts, Changes, Control, Files, Policy, Processes } from "@sand/protocol/exec";
import { Mcp } from "@sand/protocol/exec-mcp";
import { Shells, Tmux } from "@sand/protocol/exec-shells";
import { expect, test } from "vitest";
import { createSeededRandom } from "../seeded-random.ts";
import { buildRequest } from "./build-request.ts";
import { confineBody } from "./confine-body.ts";
import { e2bTargets } from "./sample-e2b.ts";
import { daemonTargets, gatewayTargets } from "./sample-requests.ts";
import { terminalTargets } from "./sample-terminals.ts";

const targets = [...gatewayTargets({ agentId: "agent", nonce: "nonce" }), ...daemonTargets()];
const allTargets = [...targets, ...terminalTargets(), ...e2bTargets()];
const bearers = {
  ...{ gateway: "gateway-token", daemon: "daemon-token" },
  ...{ terminals: "terminals-token", e2b: "e2b-token" },
};

function build(seed: number, count: number, of = targets) {
  const random = createSeededRandom(seed);
  return of.flatMap((target) => Array.from({ length: count }, () => buildRequest(random, target, bearers)));
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
  for (const { bytes, isWellFramed } of build(2, 20, allTargets)) {
    if (!isWellFramed) continue;
    const text = bytes.toString("latin1");
    const bodyLength = text.length - text.indexOf("\r\n\r\n") - 4;
    const length = /\r\ncontent-length: (\d+)\r\n/u.exec(text)?.[1];
    if (length === undefined) expect(text).toContain("transfer-encoding: chunked");
    else expect(Number(length)).toBe(bodyLength);
  }
});

test("nothing that is sent could hurt the machine: no path leads far away", () => {
  for (const { bytes } of build(3, 20, allTargets)) {
    const text = bytes.toString("latin1");
    expect(text).not.toMatch(/\.\.\/\.\.\/|"\/(?:etc|bin|usr|root|home|var)/u);
  }
});

test("every procedure of the daemon has a sound example", () => {
  const services = [Artifacts, Changes, Control, Files, Mcp, Policy, Processes, Shells, Tmux];
  const procedures = services.flatMap(({ typeName, methods }) =>
    methods.map(({ name }) => `/${typeName}/${name}`),
  );
  expect(
    daemonTargets()
      .map(({ path }) => path)
      .sort(),
  ).toEqual(procedures.sort());
});

test("names in what removes or moves never lead to the folder itself or out of it", () => {
  const out = ["", ".", "./", "..", "../a", "a/..", "a/../b", "/", "/etc", "~", "~/a", "a/./b"];
  for (const name of out) expect(confineBody({ path: [name] })).toEqual({ path: ["zq-confined"] });
  for (const name of ["a", "a/b", ".a", "..a", "a..", "a~"]) expect(confineBody(name)).toBe(name);
  const removing = e2bTargets().filter(({ isConfined }) => isConfined);
  expect(removing.map(({ path }) => path)).toEqual([
    "/filesystem.Filesystem/Move",
    "/filesystem.Filesystem/Remove",
    "/files/compose",
  ]);
});
