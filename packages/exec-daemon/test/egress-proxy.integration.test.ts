/** The proxy that is the only way out: what it dials, what it refuses, and that no input breaks it. */
import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, connect, createServer, type Server } from "node:net";
import type { NetworkRules } from "@sand/sandbox-policy";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createEgressProxy } from "../src/network/egress-proxy.ts";

const open: Server[] = [];
const names = new Map<string, readonly string[]>();
let refused: string[];
let web: number;

async function listen(server: Server): Promise<number> {
  open.push(server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

beforeEach(async () => {
  refused = [];
  names.clear();
  web = await listen(
    createHttpServer((request, reply) =>
      reply.end(`${request.method} ${request.url} ${request.headers.host}`),
    ),
  );
});
afterEach(async () => {
  for (const server of open.splice(0)) {
    server.close();
    await once(server, "close");
  }
});

async function startProxy(rules: Partial<NetworkRules>): Promise<number> {
  const proxy = createEgressProxy({
    rules: { domains: [], deniedDomains: [], privateHosts: [], ...rules },
    resolve: async (host) => {
      const found = names.get(host);
      if (found === undefined) throw new Error("no such name");
      return await Promise.resolve(found);
    },
    onRefused: ({ host, rule }) => refused.push(`${host}: ${rule}`),
  });
  return await listen(proxy);
}

/** Sends bytes and gives back all that comes until the other end closes. */
async function say(port: number, text: string, isAll = false): Promise<string> {
  const socket = connect({ host: "127.0.0.1", port });
  socket.on("error", () => socket.destroy());
  socket.write(text);
  if (isAll) socket.end();
  let heard = "";
  socket.setEncoding("latin1").on("data", (piece: string) => {
    heard += piece;
  });
  await once(socket, "close");
  return heard;
}

const get = (url: string): string => `GET ${url} HTTP/1.1\r\nHost: lie.test\r\nConnection: close\r\n\r\n`;
const tunnel = (target: string, then = ""): string => `CONNECT ${target} HTTP/1.1\r\nHost: x\r\n\r\n${then}`;

test("a listed name whose address may be reached is dialled, and the URL decides over the Host header", async () => {
  names.set("a.test", ["127.0.0.1"]);
  const proxy = await startProxy({ domains: ["a.test"], privateHosts: ["a.test"] });
  expect(await say(proxy, get(`http://a.test:${web}/x?y`))).toMatch(/200 OK[\s\S]*GET \/x\?y a\.test:\d+/u);
});

test("a tunnel carries both directions", async () => {
  names.set("a.test", ["127.0.0.1"]);
  const proxy = await startProxy({ domains: ["a.test"], privateHosts: ["127.0.0.0/8"] });
  expect(await say(proxy, tunnel(`a.test:${web}`, get("/inside")))).toMatch(
    /200 Conn[\s\S]*GET \/inside lie\.test/u,
  );
});

test.each([
  ["a name that isn't listed", "b.test", "127.0.0.1", "domains doesn't name"],
  ["a name that leads to loopback", "a.test", "127.0.0.1", "loopback"],
  ["a name that leads to metadata", "a.test", "169.254.169.254", "link-local"],
  ["a name that leads to a private net", "a.test", "192.168.0.1", "private"],
  ["a name that leads to loopback in IPv6 clothes", "a.test", "::ffff:127.0.0.1", "loopback"],
])("%s is refused by both ways, with the rule", async (_, host, address, rule) => {
  names.set(host, [address]);
  const proxy = await startProxy({ domains: ["a.test"] });
  const answers = [
    await say(proxy, tunnel(`${host}:${web}`)),
    await say(proxy, get(`http://${host}:${web}/`)),
  ];
  for (const answer of answers) {
    expect(answer).toContain("403");
    expect(answer).toContain(rule);
  }
  expect(refused).toHaveLength(2);
});

test("the address that was judged is the one that is dialled, however often the name changes its mind", async () => {
  let asked = 0;
  const proxy = createEgressProxy({
    rules: { domains: ["a.test"], deniedDomains: [], privateHosts: ["127.0.0.1"] },
    resolve: async () => {
      asked += 1;
      return await Promise.resolve(asked === 1 ? ["127.0.0.1"] : ["169.254.169.254"]);
    },
    onRefused: () => undefined,
  });
  expect(await say(await listen(proxy), get(`http://a.test:${web}/`))).toContain("200 OK");
  expect(asked).toBe(1);
});

test("a name that leads nowhere, and a target that doesn't answer, are a bad gateway", async () => {
  const closed = createServer();
  const port = await listen(closed);
  open.splice(open.indexOf(closed), 1);
  closed.close();
  names.set("a.test", ["127.0.0.1"]);
  const proxy = await startProxy({ domains: ["a.test", "lost.test"], privateHosts: ["a.test"] });
  for (const target of [`a.test:${port}`, `lost.test:${web}`]) {
    expect(await say(proxy, tunnel(target))).toContain("502");
    expect(await say(proxy, get(`http://${target}/`))).toContain("502");
  }
});

test("whatever is said to it, it answers or hangs up, and goes on", async () => {
  names.set("a.test", ["127.0.0.1"]);
  const proxy = await startProxy({ domains: ["a.test"], privateHosts: ["a.test"] });
  const odd = [
    ...["", "\0\u0001\u0002", "GET / HTTP/1.1\r\nHost: x\r\n\r\n", tunnel("a.test"), tunnel("a.test:99999")],
    ...[
      tunnel("a.test:0"),
      tunnel("[::1"),
      tunnel(`u@a.test:${web}`),
      tunnel("/etc/passwd:1"),
      tunnel(":80"),
    ],
    ...[get(`http://u:p@a.test:${web}/`), get("https://a.test/"), get("file:///etc/passwd"), get("http://")],
    ...[`GET http://a.test/ HTTP/1.1\r\nHost: x\r\nX: ${"y".repeat(40_000)}\r\n\r\n`],
    ...[`POST http://a.test:${web}/ HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc`],
  ];
  for (const text of odd) expect(await say(proxy, text, true)).not.toContain("200 OK");
  expect(await say(proxy, get(`http://a.test:${web}/after`))).toContain("/after");
});
