import { once } from "node:events";
import type { CommittedEvent } from "@sand/protocol";
import { describe, expect, test } from "vitest";
import { createGatewayWorld, dial, token } from "./gateway-world.ts";
import { summaryOf } from "./memory-ports.ts";
import { dataOf, idOf, openSse } from "./sse-reader.ts";

function event(seq: number, text = `t${seq}`): CommittedEvent {
  return { seq, channel: "transcript", payload: { type: "appended", agentId: "a", entry: { text } } };
}

const isData = (frame: string) => frame.includes("data: ");

describe("a strict stream", () => {
  test("has the exact headers, retry first, and one data line of JSON a frame without an id", async () => {
    await using world = await createGatewayWorld();
    const stream = await openSse(world.gateway.port, "/events");
    await stream.until((frames) => frames.length === 1);
    world.publish(event(1));
    const frames = await stream.until((seen) => seen.length === 2);
    expect(stream.response.headers).toMatchObject({
      "content-type": "text/event-stream",
      "cache-control": "no-cache, no-transform",
      "x-accel-buffering": "no",
    });
    expect(stream.response.headers["content-encoding"]).toBeUndefined();
    expect(frames).toEqual([
      "retry: 1000",
      'data: {"channel":"transcript","payload":{"type":"appended","agentId":"a","entry":{"text":"t1"}}}',
    ]);
    stream.close();
  });

  test("has no carriage return anywhere on the wire", async () => {
    await using world = await createGatewayWorld();
    const stream = await openSse(world.gateway.port, "/events?since=0");
    world.publish(event(1, "a\r\nb\rc"));
    expect((await stream.until((frames) => frames.some(isData))).join("\n\n")).not.toContain("\r");
    stream.close();
  });

  test("gets only the channels that it names, with a plain or an encoded comma", async () => {
    await using world = await createGatewayWorld();
    const streams = await Promise.all(
      ["agents,turn-delta", "agents%2Cturn-delta"].map((list) =>
        openSse(world.gateway.port, `/events?channels=${list}`),
      ),
    );
    await Promise.all(streams.map((stream) => stream.until((frames) => frames.length === 1)));
    world.publish(event(1), { seq: 2, channel: "agents", payload: { agents: [] } });
    world.hub.publish([{ seq: null, channel: "turn-delta", payload: { text: "x" } }]);
    for (const stream of streams) {
      const frames = await stream.until((seen) => seen.length === 3);
      expect(frames.slice(1).map((frame) => dataOf(frame)?.channel)).toEqual(["agents", "turn-delta"]);
      stream.close();
    }
  });

  test("without a filter gets none of our own channels", async () => {
    await using world = await createGatewayWorld();
    const stream = await openSse(world.gateway.port, "/events?channels=");
    await stream.until((frames) => frames.length === 1);
    world.hub.publish([{ seq: null, channel: "turn-delta", payload: {} }]);
    world.publish({ seq: 1, channel: "turn", payload: {} }, event(2));
    expect(
      (await stream.until((frames) => frames.some(isData))).map((frame) => dataOf(frame)?.channel),
    ).toEqual([undefined, "transcript"]);
    stream.close();
  });

  test("gets summaries without pictures when it asks for slim ones", async () => {
    await using world = await createGatewayWorld();
    const stream = await openSse(world.gateway.port, "/events", { "x-sand-slim-avatars": "1" });
    await stream.until((frames) => frames.length === 1);
    const payload = {
      agent: { ...summaryOf("a") },
      activeAgentId: null,
    } as unknown as CommittedEvent["payload"];
    world.publish({ seq: 1, channel: "agent-upserted", payload });
    const frames = await stream.until((seen) => seen.some(isData));
    expect(dataOf(frames[1] ?? "")).toMatchObject({ payload: { agent: { id: "a", avatarDataUrl: null } } });
    stream.close();
  });

  test("is pinged while nothing happens", async () => {
    await using world = await createGatewayWorld({ limits: { pingMs: 30 } });
    const stream = await openSse(world.gateway.port, "/events");
    await stream.until((frames) => frames.filter((frame) => frame === ":ping").length >= 3);
    stream.close();
  });

  test("carries an echo, so that a client can prove that it lives", async () => {
    await using world = await createGatewayWorld();
    const stream = await openSse(world.gateway.port, "/events");
    await stream.until((frames) => frames.length === 1);
    const echo = (nonce: string) =>
      fetch(`${world.gateway.url}/events/echo?nonce=${nonce}`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}` },
      });
    expect((await echo("abc-1")).status).toBe(200);
    await stream.until((frames) => frames.includes(":echo abc-1"));
    for (const bad of ["", "a%0Ab", "x".repeat(65), "a.b"]) expect((await echo(bad)).status).toBe(400);
    stream.close();
  });
});

describe("compression", () => {
  test("each frame of a gzip stream can be read as soon as it is sent", async () => {
    await using world = await createGatewayWorld();
    const stream = await openSse(world.gateway.port, "/events?since=0", {
      "accept-encoding": "gzip, deflate",
    });
    expect(stream.response.headers).toMatchObject({
      "content-encoding": "gzip",
      "content-type": "text/event-stream",
    });
    await stream.until((frames) => frames.length === 1);
    for (let seq = 1; seq <= 5; seq += 1) {
      const sentAt = performance.now();
      world.publish(event(seq));
      await stream.until((frames) => frames.filter(isData).length === seq);
      expect(performance.now() - sentAt).toBeLessThan(100);
    }
    stream.close();
  });

  test("a plain and a compressed stream say the same", async () => {
    await using world = await createGatewayWorld();
    const [plain, packed] = await Promise.all([
      openSse(world.gateway.port, "/events?since=0"),
      openSse(world.gateway.port, "/events?since=0", { "accept-encoding": "gzip" }),
    ]);
    for (let seq = 1; seq <= 50; seq += 1) world.publish(event(seq, "ä".repeat(seq * 50)));
    const all = (frames: readonly string[]) => frames.filter(isData).length === 50;
    expect(await packed.until(all)).toEqual(await plain.until(all));
    plain.close();
    packed.close();
  });

  test("is off when it is switched off", async () => {
    await using world = await createGatewayWorld({ sseGzip: false });
    const stream = await openSse(world.gateway.port, "/events", { "accept-encoding": "gzip" });
    expect(stream.response.headers["content-encoding"]).toBeUndefined();
    stream.close();
  });
});

describe("resuming", () => {
  test("a stream that is cut at any frame goes on without a gap and without a repetition", async () => {
    await using world = await createGatewayWorld();
    const total = 12;
    for (let seq = 1; seq <= total; seq += 1) world.publish(event(seq * 2));
    for (let cut = 0; cut <= total; cut += 1) {
      const first = await openSse(world.gateway.port, "/events?since=0");
      const before = (await first.until((frames) => frames.filter(isData).length >= cut))
        .filter(isData)
        .slice(0, cut);
      first.close();
      const lastId = before.map(idOf).at(-1) ?? 0;
      const second = await openSse(world.gateway.port, "/events", { "last-event-id": String(lastId) });
      const after = (await second.until((frames) => frames.filter(isData).length >= total - cut)).filter(
        isData,
      );
      second.close();
      expect([...before, ...after].map(idOf)).toEqual(world.log.map((row) => row.seq));
    }
  });

  test("what is committed while the past is replayed comes once, in order", async () => {
    let pages = 0;
    let next = 600;
    const publishNext = (count: number) => {
      for (let added = 0; added < count; added += 1) {
        next += 1;
        world.publish(event(next));
      }
    };
    // Each page of the past is read while more is committed, before it and after it.
    const beforeReplay = async () => {
      pages += 1;
      if (pages > 12) return;
      publishNext(20);
      await new Promise(setImmediate);
      publishNext(5);
    };
    await using world = await createGatewayWorld({ beforeReplay });
    for (let seq = 1; seq <= 600; seq += 1) world.publish(event(seq));
    const cursors = [0, 100, 300, 599];
    const streams = await Promise.all(
      cursors.map((since) => openSse(world.gateway.port, `/events?since=${since}`)),
    );
    await expect.poll(() => pages).toBeGreaterThan(8);
    publishNext(1);
    for (const [index, stream] of streams.entries()) {
      const frames = (await stream.until((seen) => seen.some((frame) => idOf(frame) === next))).filter(
        isData,
      );
      expect(frames.map(idOf)).toEqual(
        world.log.map((row) => row.seq).filter((seq) => seq > (cursors[index] ?? 0)),
      );
      stream.close();
    }
  });

  test("a strict stream gets nothing from the past", async () => {
    await using world = await createGatewayWorld();
    world.publish(event(1));
    const stream = await openSse(world.gateway.port, "/events");
    await stream.until((frames) => frames.length === 1);
    world.publish(event(2));
    const frames = await stream.until((seen) => seen.some(isData));
    expect(frames.filter(isData)).toHaveLength(1);
    expect(idOf(frames[1] ?? "")).toBeUndefined();
    stream.close();
  });

  test("a cursor that is too old and one that is ahead get one reset, and live events after it", async () => {
    await using world = await createGatewayWorld({ floor: 5 });
    for (let seq = 1; seq <= 10; seq += 1) world.publish(event(seq));
    for (const [since, reason] of [
      [2, "too-old"],
      [99, "ahead"],
    ] as const) {
      const stream = await openSse(world.gateway.port, `/events?since=${since}`);
      await stream.until((frames) => frames.some(isData));
      const next = (world.log.at(-1)?.seq ?? 0) + 1;
      world.publish(event(next));
      const [reset, live] = (await stream.until((frames) => frames.filter(isData).length === 2)).filter(
        isData,
      );
      expect(dataOf(reset ?? "")).toEqual({ channel: "reset", payload: { reason, lastSeq: next - 1 } });
      expect([idOf(reset ?? ""), idOf(live ?? "")]).toEqual([next - 1, next]);
      stream.close();
    }
  });

  test.each(["/events?since=x", "/events?since=-1", "/events?since=1&since=1"])("%s is 400", async (path) => {
    await using world = await createGatewayWorld();
    const response = await world.get(path);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ failureCode: "gateway/bad-request" });
  });
});

describe("limits", () => {
  test("a client that never reads holds at most 1 MiB and is cut off alone", async () => {
    await using world = await createGatewayWorld();
    const reader = await openSse(world.gateway.port, "/events?since=0");
    const stalled = await dial(world.gateway.port);
    stalled.pause();
    stalled.on("error", () => undefined);
    const gone = once(stalled, "close");
    stalled.write(`GET /events?since=0 HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\n\r\n`);
    await reader.until((frames) => frames.length === 1);
    const text = "x".repeat(200_000);
    const total = 200;
    const rssBefore = process.memoryUsage().rss;
    for (let seq = 1; seq <= total; seq += 1) {
      world.publish(event(seq, text));
      await reader.until((frames) => frames.filter(isData).length === seq);
    }
    expect(world.logLines.filter((line) => line.includes("stream.cut"))).toHaveLength(1);
    expect(world.logLines.join("")).toContain("too-slow");
    // The test's own reader keeps all frames, so only a coarse bound can be set on the whole process.
    expect(process.memoryUsage().rss - rssBefore).toBeLessThan(400 * 1024 * 1024);
    stalled.resume();
    await gone;
    reader.close();
  });

  test("a slow client that resumes gets all of a long past by its own pace", async () => {
    await using world = await createGatewayWorld();
    const text = "y".repeat(100_000);
    for (let seq = 1; seq <= 100; seq += 1) world.publish(event(seq, text));
    const stream = await openSse(world.gateway.port, "/events?since=0");
    for (let pause = 0; pause < 20; pause += 1) {
      stream.response.pause();
      await new Promise(setImmediate);
      stream.response.resume();
    }
    const frames = (await stream.until((seen) => seen.filter(isData).length === 100)).filter(isData);
    expect(frames.map(idOf)).toEqual(world.log.map((row) => row.seq));
    expect(world.logLines.join("")).not.toContain("stream.cut");
    stream.close();
  });

  test("a client that stands still is cut off at the deadline, though its queue is small", async () => {
    await using world = await createGatewayWorld({ limits: { pingMs: 20, stallMaxMs: 100 } });
    const stalled = await dial(world.gateway.port);
    stalled.pause();
    stalled.on("error", () => undefined);
    const closed = once(stalled, "close");
    stalled.write(`GET /events?since=0 HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\n\r\n`);
    const text = "x".repeat(800_000);
    for (let seq = 1; seq <= 40; seq += 1) world.publish(event(seq, text));
    await expect
      .poll(() => world.logLines.some((line) => line.includes('"reason":"stalled"')), { timeout: 5_000 })
      .toBe(true);
    stalled.resume();
    await closed;
  });

  test("more streams than the limit are 429, and a closed one makes room", async () => {
    await using world = await createGatewayWorld({ limits: { streamsMax: 2 } });
    const first = await openSse(world.gateway.port, "/events");
    const second = await openSse(world.gateway.port, "/events");
    const refused = await world.get("/events");
    expect(refused.status).toBe(429);
    expect(await refused.json()).toMatchObject({ failureCode: "gateway/too-many-streams" });
    first.close();
    await expect
      .poll(async () => {
        const again = await openSse(world.gateway.port, "/events");
        again.close();
        return again.response.statusCode;
      })
      .toBe(200);
    second.close();
  });
});
