/** Slow, silent and half-open clients: each is bounded and cut off alone. */
import { createServer, connect as dial, type Socket } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ptyLimits } from "../src/pty/pty-limits.ts";
import { token, until } from "./daemon-process.ts";
import { connect, type PtyWorld, startPtyWorld } from "./pty-world.ts";

const patientMs = 90_000;
let world: PtyWorld;
beforeAll(async () => {
  world = await startPtyWorld();
});
afterAll(() => world.dispose());

const flood = ["/bin/sh", "-c", "echo BEGIN; exec yes 0123456789012345678901234567890123456789"];

async function offsetOf(id: string): Promise<number> {
  return ((await world.call("GET", `/terminals/${id}`)).body.terminal as { offset: number }).offset;
}

/** Above that offset, and the same in many looks. */
async function standsStill(id: string, above: number): Promise<number> {
  let [before, looks] = [-1, 0];
  return await until(
    "the output stands still",
    async () => {
      const now = await offsetOf(id);
      looks = now === before ? looks + 1 : 0;
      before = now;
      return now > above && looks >= 10 ? now : undefined;
    },
    patientMs,
  );
}

test("a writer that acknowledges nothing stops the program at the limit, and acks let it go on", {
  timeout: patientMs,
}, async () => {
  const id = await world.spawn(flood);
  const client = await world.attach(id, "since=0", { acks: false });
  client.say({ type: "ack", offset: 0 });
  const { offset: attachedAt } = (await client.heard("hello")) as { offset: number };
  const still = await standsStill(id, attachedAt + ptyLimits.unackedMaxBytes);
  // Two reads of the terminal may be on their way when it is shut.
  expect(still - attachedAt).toBeLessThan(ptyLimits.unackedMaxBytes + 256 * 1024);
  client.say({ type: "ack", offset: still });
  await until("it goes on", async () => (await offsetOf(id)) > still || undefined, patientMs);
  await client.close();
  await world.call("DELETE", `/terminals/${id}`);
});

test("a viewer that reads nothing holds up nobody and costs only what its socket may hold", {
  timeout: patientMs,
}, async () => {
  const id = await world.spawn(["/bin/sh", "-c", "read -r go; seq 1 700000; echo LAST; exec cat"]);
  const writer = await world.attach(id, "since=0");
  const deaf = await world.attach(id, "mode=view");
  deaf.socket.pause();
  writer.type("go\n");
  const before = process.memoryUsage().rss;
  const outputBytes = 5_488_900;
  await until("the writer has all of it", () => writer.offset > outputBytes || undefined, patientMs);
  // Our own client holds the output as well; the deaf one must not hold it a second time.
  expect(process.memoryUsage().rss - before).toBeLessThan(150 * 1024 * 1024);
  deaf.socket.resume();
  // The kernel has kept all of it for the deaf one, or a picture comes, or on a slow machine it has been cut off.
  const outcome = await until(
    "the deaf one is served",
    () => {
      const picture = deaf.control.find(({ type }) => type === "snapshot");
      if (picture !== undefined) return String(picture.data);
      if (deaf.offset >= writer.offset) return deaf.text().slice(-100);
      return deaf.socket.readyState === deaf.socket.CLOSED ? "cut off" : undefined;
    },
    patientMs,
  );
  if (outcome === "cut off") expect(await deaf.closed()).toMatchObject({ code: 1013 });
  else expect(outcome).toMatch(/\d{5,}\r\n\d{5,}/u);
  await Promise.all([writer.close(), deaf.close()]);
});

test("a half-open peer is dropped in seconds, and the lease is free again", {
  timeout: patientMs,
}, async () => {
  const id = await world.spawn(["/bin/cat"]);
  const relay = await openRelay(world.terminals.port);
  const client = await connect(`ws://127.0.0.1:${relay.port}/terminals/${id}/attach`);
  expect(world.terminals.table.find(id).isLeaseFree).toBe(false);
  relay.freeze();
  const sinceMs = Date.now();
  await until("it is dropped", () => world.terminals.table.find(id).isLeaseFree || undefined, patientMs);
  expect(Date.now() - sinceMs).toBeGreaterThan(ptyLimits.pingEveryMs);
  client.socket.terminate();
  relay.close();
});

test("a client that takes nothing of what waits for it is cut off, and the others stay", {
  timeout: patientMs,
}, async () => {
  const id = await world.spawn(flood);
  const relay = await openRelay(world.terminals.port);
  const stuck = await connect(`ws://127.0.0.1:${relay.port}/terminals/${id}/attach?mode=view`);
  const steady = await world.attach(id, "mode=view");
  relay.freeze();
  await until("it is cut off", () => world.terminals.table.find(id).listeners === 1 || undefined, patientMs);
  const { offset } = steady;
  await until("the other one goes on", () => steady.offset > offset || undefined, patientMs);
  stuck.socket.terminate();
  await steady.close();
  relay.close();
  await world.call("DELETE", `/terminals/${id}`);
});

test("without anybody there a flood runs on and costs only the ring", { timeout: patientMs }, async () => {
  const id = await world.spawn(flood);
  const first = await until(
    "much has come",
    async () => ((await offsetOf(id)) > 8_000_000 ? await offsetOf(id) : undefined),
    patientMs,
  );
  const { ring } = world.terminals.table.find(id);
  expect(ring.end - ring.start).toBeLessThanOrEqual(ptyLimits.ringMaxBytes);
  await until("it runs on", async () => (await offsetOf(id)) > first || undefined, patientMs);
  await world.call("DELETE", `/terminals/${id}`);
});

test("the thread of screens may die: terminals live on, and the next picture is right", {
  timeout: patientMs,
}, async () => {
  const id = await world.spawn(["/bin/sh", "-c", "echo before; exec cat"]);
  const client = await world.attach(id, "since=0");
  await until("it is shown", async () => (await offsetOf(id)) > 0 || undefined);
  await world.terminals.screens.kill();
  client.type("after\n");
  await client.saw(/after/u);
  await until("a picture is whole again", async () => {
    const viewer = await world.attach(id, "mode=view");
    const shown = String((await viewer.heard("snapshot")).data);
    await viewer.close();
    return (shown.includes("before") && shown.includes("after")) || undefined;
  });
  await client.close();
});

interface Relay {
  readonly port: number;
  /** From now on nothing is read on either side, and nobody is told. */
  freeze(): void;
  close(): void;
}

/** A connection in the middle that can fall silent as a network does that is gone. */
async function openRelay(target: number): Promise<Relay> {
  const sockets: Socket[] = [];
  const server = createServer((near) => {
    const far = dial(target, "127.0.0.1");
    for (const socket of [near, far]) socket.on("error", () => undefined);
    sockets.push(near, far);
    near.pipe(far);
    far.pipe(near);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : 0,
    freeze() {
      for (const socket of sockets) {
        socket.unpipe();
        socket.pause();
      }
    },
    close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

test("a bearer is needed even for a look at the list", async () => {
  expect(
    (await fetch(`http://${world.base}/terminals`, { headers: { authorization: `Bearer ${token}x` } }))
      .status,
  ).toBe(401);
});
