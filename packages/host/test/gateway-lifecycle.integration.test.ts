import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { createGatewayWorld, dial, token } from "./gateway-world.ts";
import { startedAt } from "./memory-ports.ts";
import { openSse } from "./sse-reader.ts";

describe("the discovery file", () => {
  test("names the gateway completely, for its owner only, and nothing else is left beside it", async () => {
    await using world = await createGatewayWorld();
    const path = join(world.dataRoot, "gateway.json");
    expect(JSON.parse(await readFile(path, "utf8"))).toEqual({
      scheme: "http",
      host: "127.0.0.1",
      port: world.gateway.port,
      token,
      pid: process.pid,
      startedAt,
    });
    expect(((await stat(path)).mode & 0o777).toString(8)).toBe("600");
    expect(((await stat(world.dataRoot)).mode & 0o777).toString(8)).toBe("700");
    expect(await readdir(world.dataRoot)).toEqual(["gateway.json"]);
  });

  test("is removed at shutdown", async () => {
    await using world = await createGatewayWorld();
    await world.gateway.close();
    expect(await readdir(world.dataRoot)).toEqual([]);
  });

  test.each([
    ["a successor's", JSON.stringify({ pid: process.pid, startedAt: startedAt + 1 })],
    ["a broken one", "{"],
  ])("%s is left alone", async (_what, text) => {
    await using world = await createGatewayWorld();
    const path = join(world.dataRoot, "gateway.json");
    await writeFile(path, text);
    await world.gateway.close();
    expect(await readFile(path, "utf8")).toBe(text);
  });
});

describe("shutdown", () => {
  test("ends event streams in order, with a word on when to come back", async () => {
    await using world = await createGatewayWorld();
    for (const headers of [{}, { "accept-encoding": "gzip" }]) {
      const stream = await openSse(world.gateway.port, "/events", headers);
      await stream.until((frames) => frames.length === 1);
      if ("accept-encoding" in headers) await world.gateway.close();
      else continue;
      await stream.ended;
      expect(stream.frames).toEqual(["retry: 1000", "retry: 1000"]);
      expect(stream.response.complete).toBe(true);
    }
  });

  test("a compressed stream ends with its checksum, so that a client can tell an end from a cut", async () => {
    await using world = await createGatewayWorld();
    const stream = await openSse(world.gateway.port, "/events", { "accept-encoding": "gzip" });
    await stream.until((frames) => frames.length === 1);
    world.publish({ seq: 1, channel: "transcript", payload: {} });
    await world.gateway.close();
    await stream.ended;
    expect(gunzipSync(Buffer.concat(stream.wire)).toString().split("\n\n")).toEqual([
      "retry: 1000",
      'data: {"channel":"transcript","payload":{}}',
      "retry: 1000",
      "",
    ]);
  });

  test("an open connection is told to close and its request to come again", async () => {
    await using world = await createGatewayWorld({ limits: { closeGraceMs: 500 } });
    const socket = await dial(world.gateway.port);
    const answers: string[] = [];
    socket.on("data", (chunk) => answers.push(chunk.toString()));
    const post = `POST /api/countAgents HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\ncontent-length: 0\r\n\r\n`;
    socket.write(post);
    await expect.poll(() => answers.length).toBe(1);
    const closed = world.gateway.close();
    await expect.poll(() => readdir(world.dataRoot)).toEqual([]);
    socket.write(post);
    await expect.poll(() => answers.length).toBe(2);
    expect(answers[0]).toMatch(/^HTTP\/1\.1 200 /u);
    expect(answers[1]).toMatch(/^HTTP\/1\.1 503 /u);
    expect(answers[1]?.toLowerCase()).toContain("connection: close");
    expect(answers[1]).toContain('"failureCode":"host/shutting-down"');
    await closed;
  });

  test("a spare connection that never carried a request holds nothing up", async () => {
    await using world = await createGatewayWorld({ limits: { closeGraceMs: 10, closeMaxMs: 20_000 } });
    const socket = await dial(world.gateway.port);
    const gone = new Promise((resolve) => socket.on("close", resolve));
    const startedMs = performance.now();
    await Promise.all([world.gateway.close(), gone]);
    expect(performance.now() - startedMs).toBeLessThan(10_000);
  });

  test("does not wait for ever for a client that never finishes its request", async () => {
    await using world = await createGatewayWorld({ limits: { closeGraceMs: 10, closeMaxMs: 100 } });
    const socket = await dial(world.gateway.port);
    socket.on("error", () => undefined);
    const gone = new Promise((resolve) => socket.on("close", resolve));
    socket.write(
      `POST /api/countAgents HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\ncontent-length: 9\r\n\r\n{`,
    );
    await expect.poll(async () => (await world.get("/health")).status).toBe(200);
    await Promise.all([world.gateway.close(), gone]);
  });

  test("a closed gateway accepts nobody, and closing twice is closing once", async () => {
    await using world = await createGatewayWorld();
    const { port } = world.gateway;
    expect(world.gateway.close()).toBe(world.gateway.close());
    await world.gateway.close();
    await expect(dial(port)).rejects.toThrow();
  });
});
