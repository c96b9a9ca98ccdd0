/** Terminals as the daemon starts them, in this process, and a client of their WebSocket. */
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLogger, createScope, systemClock } from "@sand/node-kit";
import WebSocket from "ws";
import { openBoxPolicy } from "../src/box-policy.ts";
import { parseDaemonConfig } from "../src/config.ts";
import { openKeepers } from "../src/keeper/open-keepers.ts";
import { openLedger } from "../src/ledger/ledger.ts";
import { startTerminals, type Terminals } from "../src/pty/start-terminals.ts";
import { token, until } from "./daemon-process.ts";

const entry = join(import.meta.dirname, "../src/main.ts");

export interface PtyWorld {
  readonly base: string;
  readonly workspace: string;
  readonly terminals: Terminals;
  /** a request with the bearer */
  call(
    method: string,
    path: string,
    body?: unknown,
  ): Promise<{ status: number; body: Record<string, unknown> }>;
  spawn(argv: readonly string[], more?: Readonly<Record<string, unknown>>): Promise<string>;
  attach(id: string, query?: string, options?: ClientOptions): Promise<PtyClient>;
  dispose(): Promise<void>;
}

export async function startPtyWorld(env: Record<string, string> = {}): Promise<PtyWorld> {
  const folder = mkdtempSync(join(tmpdir(), "sand-pty-"));
  const workspace = join(folder, "workspace");
  mkdirSync(workspace);
  const config = parseDaemonConfig({
    ...{ PATH: process.env.PATH ?? "", HOME: folder, SAND_DATA_ROOT: join(folder, "data"), LANG: "C.UTF-8" },
    ...{ SAND_BOX_WORKSPACE_ROOT: workspace, SAND_BOX_EXEC_DAEMON_PORT: "0" },
    ...{ SAND_BOX_EXEC_DAEMON_AUTH_TOKEN: token, SAND_SANDBOX: "off", SHELL: "/bin/bash", ...env },
  });
  mkdirSync(config.dataRoot, { recursive: true });
  const log = createLogger({ name: "test", level: "silent" });
  const scope = createScope("test", () => undefined);
  const ledger = openLedger({ dataRoot: config.dataRoot, enabled: true, clock: systemClock, log });
  scope.defer(() => ledger.close());
  const selfCommand = [process.execPath, entry] as const;
  const keeper = await openKeepers({ config, selfCommand, log, scope });
  const policy = await openBoxPolicy(config);
  const terminals = await startTerminals({ config, policy, log, ledger, keeper, entry });
  const base = `127.0.0.1:${terminals.port}`;
  const call: PtyWorld["call"] = async (method, path, body) => {
    const response = await fetch(`http://${base}${path}`, {
      ...{ method, headers: { authorization: `Bearer ${token}` } },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  };
  return {
    ...{ base, workspace, terminals, call },
    async spawn(argv, more = {}) {
      const { status, body } = await call("POST", "/terminals", { argv, ...more });
      if (status !== 201) throw new Error(`no terminal: ${JSON.stringify(body)}`);
      return (body as { terminal: { id: string } }).terminal.id;
    },
    attach: (id, query = "", options = {}) =>
      connect(`ws://${base}/terminals/${id}/attach?${query}`, options),
    async dispose() {
      await Promise.all(terminals.table.list().map((terminal) => terminal.end("kill")));
      await terminals.close();
      await scope.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export interface ClientOptions {
  readonly headers?: Readonly<Record<string, string>>;
  /** false: nothing is acknowledged */
  readonly acks?: boolean;
}

export interface PtyClient {
  readonly socket: WebSocket;
  /** all text frames so far */
  readonly control: Record<string, unknown>[];
  /** the offset behind what has come */
  readonly offset: number;
  /** live and replayed output so far */
  output(): Buffer;
  text(): string;
  type(text: string): void;
  say(message: unknown): void;
  /** Waits for a control frame of that type. */
  heard(type: string): Promise<Record<string, unknown>>;
  /** Waits until the output matches. */
  saw(pattern: RegExp, maxMs?: number): Promise<RegExpExecArray>;
  /** code and reason of the close */
  closed(): Promise<{ code: number; reason: string }>;
  close(): Promise<void>;
}

const ackEvery = 5_000;

/** Rejects with the status of a refused upgrade. */
export async function connect(url: string, options: ClientOptions = {}): Promise<PtyClient> {
  const headers = options.headers ?? { authorization: `Bearer ${token}` };
  const socket = new WebSocket(url, { headers, perMessageDeflate: false });
  const control: Record<string, unknown>[] = [];
  const parts: Buffer[] = [];
  let [offset, acked] = [0, 0];
  let end: { code: number; reason: string } | undefined;
  const ack = (): void => {
    if (options.acks === false || socket.readyState !== socket.OPEN) return;
    acked = offset;
    socket.send(JSON.stringify({ type: "ack", offset }));
  };
  socket.on("message", (data: Buffer, isBinary: boolean) => {
    if (!isBinary) {
      const message = JSON.parse(data.toString());
      control.push(message);
      if (message.type === "hello") offset = message.replay === "snapshot" ? 0 : message.from;
      if (message.type === "snapshot") {
        offset = message.offset;
        ack();
      }
      return;
    }
    const bytes = data.subarray(data[0] === 3 ? 9 : 1);
    parts.push(bytes);
    offset += bytes.length;
    if (offset - acked >= ackEvery || data[0] === 3) ack();
  });
  socket.on("close", (code, reason) => {
    end = { code, reason: reason.toString() };
  });
  const refused = once(socket, "unexpected-response").then(([, response]) => {
    socket.on("error", () => undefined);
    socket.terminate();
    throw Object.assign(new Error(`refused with ${response.statusCode}`), { status: response.statusCode });
  });
  await Promise.race([once(socket, "open"), refused]);
  refused.catch(() => undefined);
  // Input counts only from here on.
  const isShown = (): boolean => {
    const hello = control.find(({ type }) => type === "hello");
    const picture = control.some(({ type }) => type === "snapshot");
    return hello !== undefined && (hello.replay === "snapshot" ? picture : offset >= Number(hello.offset));
  };
  await until(
    "the client is brought up to date",
    () => end !== undefined || options.acks === false || isShown() || undefined,
  );
  const text = (): string => Buffer.concat(parts).toString("utf8");
  return {
    ...{ socket, control, text },
    get offset() {
      return offset;
    },
    output: () => Buffer.concat(parts),
    type: (typed) => socket.send(Buffer.concat([Buffer.of(0), Buffer.from(typed)])),
    say: (message) => socket.send(JSON.stringify(message)),
    heard: (type) => until(`a frame ${type}`, () => control.find((message) => message.type === type)),
    async saw(pattern, maxMs) {
      try {
        return await until(`output like ${pattern}`, () => pattern.exec(text()) ?? undefined, maxMs);
      } catch (error) {
        throw new Error(`no output like ${pattern} in ${JSON.stringify(text().slice(-500))}`, {
          cause: error,
        });
      }
    },
    closed: () => until("the socket closes", () => end),
    async close() {
      if (socket.readyState === socket.CLOSED) return;
      socket.terminate();
      await until("the socket closes", () => end);
    },
  };
}
