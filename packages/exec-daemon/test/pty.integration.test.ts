/** Terminals over their port: real programs, real sockets. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { token, until } from "./daemon-process.ts";
import { connect, type PtyClient, type PtyWorld, startPtyWorld } from "./pty-world.ts";

let world: PtyWorld;
beforeAll(async () => {
  world = await startPtyWorld();
});
afterAll(() => world.dispose());

const bash = ["/bin/bash", "--norc", "--noprofile"];

/** A shell at its prompt: what is typed before that is typed ahead, and bash has its own mind about it. */
async function atPrompt(query = "", prompt = "ready"): Promise<PtyClient> {
  const id = await world.spawn(bash, { env: { PS1: `${prompt}> ` } });
  const client = await world.attach(id, query);
  await until("the shell is at its prompt", () => {
    const picture = client.control.findLast(({ type }) => type === "snapshot");
    return `${String(picture?.data ?? "")}${client.text()}`.includes(`${prompt}> `) || undefined;
  });
  return client;
}

interface ListedTerminal {
  readonly id: string;
  readonly pid: number;
  readonly cols: number;
  readonly rows: number;
  readonly state: string;
  readonly orphan: boolean;
  readonly exit: unknown;
}

async function listed(id: string): Promise<ListedTerminal> {
  const { body } = await world.call("GET", `/terminals/${id}`);
  return body.terminal as ListedTerminal;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

describe("a program in a terminal", () => {
  test("is seen from its first byte, and its end closes with 1000 (a very short process too)", async () => {
    for (let round = 0; round < 20; round += 1) {
      const id = await world.spawn([
        "/bin/sh",
        "-c",
        `tty > /dev/null && printf 'short %s' ${round}; exit 7`,
      ]);
      const client = await world.attach(id, "since=0");
      expect(await client.closed()).toMatchObject({ code: 1000 });
      expect(client.text()).toBe(`short ${round}`);
      expect(await client.heard("exit")).toEqual({ type: "exit", code: 7, signal: null });
    }
  });

  test("gets what is typed, and has folder, environment and size as asked", async () => {
    mkdirSync(join(world.workspace, "sub"), { recursive: true });
    const script = 'read -r word; echo "$PWD $COLOUR $TERM $(stty size) $word"';
    const id = await world.spawn(["/bin/sh", "-c", script], { cwd: "sub", env: { COLOUR: "red" } });
    const client = await world.attach(id, "cols=90&rows=20");
    client.type("typed\n");
    await client.saw(new RegExp(`${world.workspace}/sub red xterm-256color 20 90 typed`));
    expect(await client.closed()).toMatchObject({ code: 1000 });
  });

  test("sees nothing of the daemon's token", async () => {
    const id = await world.spawn(["/bin/sh", "-c", "env; tr '\\0' '\\n' < /proc/self/environ; sleep 0.1"]);
    const client = await world.attach(id, "since=0");
    await client.closed();
    expect(client.text()).toContain("TERM=");
    expect(client.text()).not.toContain(token);
  });

  test("controls its jobs: Ctrl-C, Ctrl-Z, fg and tty work", async () => {
    const client = await atPrompt("cols=200&rows=24");
    client.type("tty; sleep 300\n");
    await client.saw(/\/dev\/pts\/\d+/u);
    client.type("\u0003");
    await client.saw(/\^C.*ready> /su);
    client.type("echo after=$?\n");
    await client.saw(/after=130.*ready> /su);
    client.type("echo started; cat\n");
    await client.saw(/[\r\n]started\r\n/u);
    client.type("first\n");
    await client.saw(/first\r\n.*first/su);
    client.type("\u001a");
    await client.saw(/Stopped.*ready> /su);
    client.type("fg\n");
    await client.saw(/fg\r\n.*cat\r\n/su);
    client.type("second\n");
    await client.saw(/second\r\n.*second/su);
    client.type("\u0004");
    await client.saw(/second\r\n.*ready> /su);
    client.type("exit\n");
    await client.closed();
    expect(client.text()).not.toMatch(/no job control|can't access tty/u);
  });

  test("is signalled in its foreground", async () => {
    const client = await atPrompt();
    client.type("(trap 'echo got-it; exit' USR1; echo wait-ing; while :; do sleep 0.05; done)\n");
    await client.saw(/[\r\n]wait-ing/u);
    client.say({ type: "signal", name: "USR1" });
    await client.saw(/[\r\n]got-it/u);
    await client.close();
  });

  test("gets a paste of 1 MiB whole", { timeout: 60_000 }, async () => {
    const id = await world.spawn([
      "/bin/sh",
      "-c",
      "stty raw -echo; echo READY; head -c 1048576 | md5sum; echo DONE",
    ]);
    const client = await world.attach(id);
    await until(
      "it is ready",
      () =>
        client.text().includes("READY") ||
        client.control.some((one) => String(one.data).includes("READY")) ||
        undefined,
    );
    const paste = Buffer.alloc(1024 * 1024, "pasted text \u001b[200~\n");
    for (let at = 0; at < paste.length; at += 65_536)
      client.type(paste.subarray(at, at + 65_536).toString("latin1"));
    await client.saw(/DONE/u, 60_000);
    const { createHash } = await import("node:crypto");
    expect(client.text()).toContain(createHash("md5").update(paste).digest("hex"));
  });
});

describe("a client that comes again", () => {
  test("goes on at its offset with exactly the bytes that it missed", async () => {
    const id = await world.spawn(["/bin/sh", "-c", "while read -r word; do echo said-$word; done"]);
    const first = await world.attach(id, "cols=80&rows=24");
    first.type("one\n");
    await first.saw(/said-one\r\n/u);
    await first.close();
    const { offset } = first;
    const second = await world.attach(id, `since=${offset}&cols=80&rows=24`);
    second.type("two\n");
    await second.saw(/said-two\r\n/u);
    await second.close();
    const whole = await world.attach(id, "since=0&mode=view");
    const picture = await whole.heard("hello");
    expect(picture).toMatchObject({ replay: "bytes", from: 0 });
    await until("all of it came", () => whole.offset >= second.offset || undefined);
    expect(whole.output().subarray(offset, second.offset)).toEqual(second.output());
    await whole.close();
  });

  test("gets a picture when its place is no longer kept, and then what follows", {
    timeout: 60_000,
  }, async () => {
    const id = await world.spawn(["/bin/sh", "-c", "seq 1 300000; echo LAST; exec cat"]);
    await until(
      "all is printed",
      async () => {
        const { body } = await world.call("GET", `/terminals/${id}`);
        return Number((body.terminal as { offset: number }).offset) > 2_280_000 || undefined;
      },
      60_000,
    );
    const client = await world.attach(id, "since=10");
    const picture = await client.heard("snapshot");
    expect(String(picture.data)).toContain("299999\r\n300000\r\nLAST");
    expect(picture.offset).toBeGreaterThan(2_280_000);
    client.type("more\n");
    await client.saw(/more/u);
    await client.close();
  });

  test("types nothing before it has acknowledged what it was shown", async () => {
    const id = await world.spawn(["/bin/sh", "-c", "stty raw -echo; printf 'question\\033[6n'; exec cat -v"]);
    await until(
      "it asks",
      async () => (await listed(id)) && (await world.call("GET", `/terminals/${id}`)).body && true,
    );
    const client = await world.attach(id, "since=0", { acks: false });
    await until(
      "the replay came",
      () =>
        client.text().includes("question") ||
        client.control.some((one) => one.type === "hello" && one.replay === "none") ||
        undefined,
    );
    client.type("\u001b[1;1R");
    client.say({ type: "ping", nonce: "1" });
    await client.heard("pong");
    client.say({ type: "ack", offset: client.offset });
    client.type("typed");
    await client.saw(/typed/u);
    const hello = await client.heard("hello");
    if (hello.replay === "bytes") expect(client.text()).not.toContain("^[[1;1R");
    await client.close();
  });

  test("is told a title and a folder that the program sets", async () => {
    const id = await world.spawn([
      "/bin/sh",
      "-c",
      "printf '\\033]0;a title\\007\\033]7;file://h/some%%20where\\007'; exec cat",
    ]);
    const client = await world.attach(id);
    await until("both are known", async () => {
      const { title, cwd } = (await world.call("GET", `/terminals/${id}`)).body.terminal as Record<
        string,
        string
      >;
      return (title === "a title" && cwd === "/some where") || undefined;
    });
    await client.close();
  });
});

describe("writers and viewers", () => {
  test("a second writer gets 409, a viewer is let in but can't type", async () => {
    const id = await world.spawn(["/bin/cat"]);
    const writer = await world.attach(id);
    await expect(world.attach(id)).rejects.toMatchObject({ status: 409 });
    const viewer = await world.attach(id, "mode=view");
    viewer.type("from the viewer\n");
    expect(await viewer.heard("error")).toMatchObject({ code: "terminal/not-writer" });
    writer.type("from the writer\n");
    await viewer.saw(/from the writer/u);
    expect(viewer.text()).not.toContain("from the viewer");
    await Promise.all([writer.close(), viewer.close()]);
  });

  test("a takeover closes the old writer with 4001, and only the new one writes", async () => {
    const id = await world.spawn(["/bin/cat"]);
    const old = await world.attach(id);
    const next = await world.attach(id, "takeover=1");
    expect(await old.closed()).toMatchObject({ code: 4001 });
    next.type("mine now\n");
    await next.saw(/mine now/u);
    await next.close();
  });

  test("a lease that is let go of can be taken by a viewer", async () => {
    const id = await world.spawn(["/bin/cat"]);
    const [writer, viewer] = [await world.attach(id), await world.attach(id, "mode=view")];
    viewer.say({ type: "lease", action: "take" });
    expect(await viewer.heard("error")).toMatchObject({ code: "terminal/lease-held" });
    writer.say({ type: "lease", action: "release" });
    await until(
      "it is free",
      () => viewer.control.some((one) => one.type === "lease" && one.free === true) || undefined,
    );
    viewer.say({ type: "lease", action: "take" });
    await until(
      "it is held",
      () => viewer.control.some((one) => one.type === "lease" && one.held === true) || undefined,
    );
    viewer.type("hello\n");
    await viewer.saw(/hello/u);
    await Promise.all([writer.close(), viewer.close()]);
  });
});

describe("sizes", () => {
  test("a size is applied before the input behind it, and told to all", async () => {
    const client = await atPrompt("cols=80&rows=24");
    const { terminal } = await client.heard("hello");
    const { id } = terminal as ListedTerminal;
    const viewer = await world.attach(id, "mode=view");
    for (let cols = 100; cols <= 132; cols += 1) client.say({ type: "resize", cols, rows: 50 });
    client.type("echo size=$(stty size)\n");
    await client.saw(/size=50 132/u);
    expect(await viewer.heard("resize")).toMatchObject({ cols: 132, rows: 50 });
    await Promise.all([client.close(), viewer.close()]);
    expect(await listed(id)).toMatchObject({ cols: 132, rows: 50 });
  });

  test("a size is cut to the limits, and one of nothing is ignored", async () => {
    const id = await world.spawn(["/bin/cat"]);
    expect((await world.call("POST", `/terminals/${id}/resize`, { cols: 0, rows: 0 })).status).toBe(200);
    expect((await world.call("POST", `/terminals/${id}/resize`, { cols: 99_999, rows: 1 })).status).toBe(200);
    await until("it is applied", async () => (await listed(id)).cols === 1000 || undefined);
    expect((await world.call("POST", `/terminals/${id}/resize`, { cols: -1, rows: 1 })).status).toBe(400);
  });
});

describe("who may come in", () => {
  const attachUrl = (id: string, query = ""): string => `ws://${world.base}/terminals/${id}/attach?${query}`;

  test("without the bearer every path answers 401, and a wrong one gets no socket", async () => {
    for (const path of ["/terminals", "/terminals/x", "/nothing", "/"])
      expect((await fetch(`http://${world.base}${path}`)).status).toBe(401);
    const id = await world.spawn(["/bin/cat"]);
    const wrong = { headers: { authorization: "Bearer wrong" } };
    await expect(connect(attachUrl(id), wrong)).rejects.toMatchObject({ status: 401 });
  });

  test("a bearer in an address is refused, under whatever name it stands", async () => {
    const id = await world.spawn(["/bin/cat"]);
    for (const query of [`token=${token}`, `x=${token}`, "access_token=anything"]) {
      await expect(connect(attachUrl(id, query))).rejects.toMatchObject({ status: 400 });
      expect((await world.call("GET", `/terminals?${query}`)).status).toBe(400);
    }
  });

  test("a ticket opens its terminal once, in the way that it was minted for", async () => {
    const id = await world.spawn(["/bin/cat"]);
    const other = await world.spawn(["/bin/cat"]);
    const mint = async (mode: string): Promise<string> =>
      String((await world.call("POST", "/tickets", { terminalId: id, mode })).body.ticket);
    const ticket = await mint("view");
    const client = await connect(attachUrl(id, `ticket=${ticket}`), { headers: {} });
    expect(await client.heard("hello")).toMatchObject({ lease: false });
    await client.close();
    await expect(connect(attachUrl(id, `ticket=${ticket}`), { headers: {} })).rejects.toMatchObject({
      status: 401,
    });
    const forAnother = connect(attachUrl(other, `ticket=${await mint("write")}`), { headers: {} });
    await expect(forAnother).rejects.toMatchObject({ status: 401 });
    expect((await world.call("POST", "/tickets", { terminalId: "none" })).status).toBe(404);
  });

  test("the bearer may be the first message; another first message closes with 1008", async () => {
    const id = await world.spawn(["/bin/cat"]);
    const late = await connect(attachUrl(id), { headers: {}, acks: false });
    late.say({ type: "auth", token });
    expect(await late.heard("hello")).toMatchObject({ lease: true });
    await late.close();
    for (const first of [
      { type: "auth", token: "wrong" },
      { type: "ack", offset: 0 },
    ]) {
      const client = await connect(attachUrl(id), { headers: {}, acks: false });
      client.say(first);
      expect(await client.closed()).toMatchObject({ code: 1008 });
      expect(client.control).toEqual([]);
    }
  });

  test("without credentials a socket is closed with 1008 in time, and learns nothing", {
    timeout: 30_000,
  }, async () => {
    const client = await connect(attachUrl("no-such-terminal"), { headers: {}, acks: false });
    expect(await client.closed()).toMatchObject({ code: 1008 });
    expect(client.control).toEqual([]);
  });

  test("a page of another origin is refused, and one that was named is let in", async () => {
    const id = await world.spawn(["/bin/cat"]);
    const from = (origin: string) => ({ headers: { authorization: `Bearer ${token}`, origin } });
    await expect(connect(attachUrl(id), from("http://evil.example"))).rejects.toMatchObject({ status: 403 });
    const named = await startPtyWorld({
      SAND_PTY_ALLOWED_ORIGINS: "https://console.example, http://other.example",
    });
    const own = await named.spawn(["/bin/cat"]);
    const client = await connect(
      `ws://${named.base}/terminals/${own}/attach`,
      from("https://console.example"),
    );
    await client.close();
    await named.dispose();
  });

  test("what isn't there answers 404, and a bad wish 400", async () => {
    await expect(world.attach("none")).rejects.toMatchObject({ status: 404 });
    await expect(world.attach("%zz")).rejects.toMatchObject({ status: 400 });
    expect(await world.call("GET", "/terminals/%zz")).toMatchObject({ status: 400 });
    const id = await world.spawn(["/bin/cat"]);
    for (const query of ["mode=steal", "since=-1", "since=x", "cols=1e3"])
      await expect(world.attach(id, query)).rejects.toMatchObject({ status: 400 });
  });
});

describe("messages that mean nothing", () => {
  test("are answered with a typed error, and too many of them close with 4000", async () => {
    const id = await world.spawn(["/bin/cat"]);
    const client = await world.attach(id);
    client.socket.send(Buffer.from([9, 1, 2]));
    expect(await client.heard("error")).toMatchObject({ code: "exec/invalid" });
    for (const text of ["", "{", "[]", '{"type":"nothing"}', '{"type":"ack","offset":999999999}'])
      client.socket.send(text);
    for (let count = 0; count < 20; count += 1) client.socket.send("x");
    expect(await client.closed()).toMatchObject({ code: 4000 });
  });

  test("of more than the limit close the socket, and the terminal lives on", async () => {
    const id = await world.spawn(["/bin/cat"]);
    const client = await world.attach(id);
    client.socket.send(Buffer.alloc(2 * 1024 * 1024));
    expect(await client.closed()).toMatchObject({ code: 1009 });
    const again = await world.attach(id);
    again.type("alive\n");
    await again.saw(/alive/u);
    await again.close();
  });

  test("a body that can't be read, or is too large, is refused", async () => {
    expect((await world.call("POST", "/terminals", { argv: [] })).body.code).toBe("exec/invalid");
    expect((await world.call("POST", "/terminals", { unknown: 1 })).status).toBe(400);
    expect((await world.call("POST", "/terminals", { cwd: "no/such/folder" })).status).toBe(400);
    expect((await world.call("POST", "/terminals", { env: { X: "y".repeat(300_000) } })).status).toBe(413);
    expect((await world.call("PUT", "/terminals")).status).toBe(404);
  });
});

describe("the life of a terminal", () => {
  test("the same id and request find the same terminal, another request is a conflict", async () => {
    const body = { id: "my-term", argv: ["/bin/cat"] };
    expect((await world.call("POST", "/terminals", body)).status).toBe(201);
    expect((await world.call("POST", "/terminals", body)).body).toMatchObject({ existing: true });
    expect((await world.call("POST", "/terminals", { ...body, argv: ["/bin/sh"] })).status).toBe(409);
  });

  test("ending one ends all that it started, also what left its session", { timeout: 30_000 }, async () => {
    const script = "trap '' HUP; sleep 301 & (setsid sleep 302 &) ; echo pids=$!; sleep 303";
    const id = await world.spawn(["/bin/sh", "-c", script]);
    const client = await world.attach(id, "since=0");
    const [, child] = await client.saw(/pids=(\d+)/u);
    const { pid } = await listed(id);
    expect((await world.call("DELETE", `/terminals/${id}`)).status).toBe(200);
    expect(await client.closed()).toMatchObject({ code: 1000 });
    await until("all are gone", () => (!isAlive(pid) && !isAlive(Number(child))) || undefined);
    expect(await listed(id)).toMatchObject({ state: "ended", exit: { code: null, signal: "SIGKILL" } });
  });

  test("without a client it is an orphan, and ends after its grace as it was asked to", {
    timeout: 30_000,
  }, async () => {
    const kept = await world.spawn(["/bin/cat"]);
    const ended = await world.spawn(["/bin/cat"], { onDisconnect: "hup", idleGraceMs: 300 });
    const killed = await world.spawn(["/bin/sh", "-c", "trap '' HUP; cat; cat"], {
      onDisconnect: "kill",
      idleGraceMs: 300,
    });
    const clients = [await world.attach(kept), await world.attach(ended), await world.attach(killed)];
    expect((await listed(ended)).orphan).toBe(false);
    for (const client of clients) await client.close();
    await until("both have ended", async () => {
      const states = [(await listed(ended)).state, (await listed(killed)).state];
      return states.every((state) => state === "ended") || undefined;
    });
    expect((await listed(ended)).exit).toEqual({ code: null, signal: "SIGHUP" });
    expect((await listed(killed)).exit).toEqual({ code: null, signal: "SIGKILL" });
    expect(await listed(kept)).toMatchObject({ state: "running", orphan: true });
  });

  test("an ended one can be looked at: its screen, then its end", async () => {
    writeFileSync(join(world.workspace, "said.txt"), "what it said\n");
    const id = await world.spawn(["/bin/cat", "said.txt"]);
    await until("it has ended", async () => (await listed(id)).state === "ended" || undefined);
    const client = await world.attach(id, "mode=view");
    expect((await client.heard("snapshot")).data).toContain("what it said");
    expect(await client.closed()).toMatchObject({ code: 1000 });
  });
});
