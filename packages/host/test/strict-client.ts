/**
 * A client of the gateway that trusts nothing but the contract: raw sockets, its own reading of HTTP and of event
 * frames, and a fault for everything that the contract doesn't allow. It shares no code with the gateway, so a mistake
 * that both sides would make alike can't hide.
 */
import { readFileSync, statSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { dirname, join } from "node:path";

export interface Door {
  readonly port: number;
  readonly token: string;
}

/** Reads the discovery file as a careful client does, and refuses one that isn't as the contract has it. */
export function readDoor(dataRoot: string): Door & { readonly pid: number; readonly startedAt: number } {
  const path = join(dataRoot, "gateway.json");
  const found: Record<string, unknown> = JSON.parse(readFileSync(path, "utf8"));
  const modes = [statSync(path).mode & 0o777, statSync(dirname(path)).mode & 0o777];
  if (modes[0] !== 0o600 || modes[1] !== 0o700) throw new Error(`the file's modes are ${modes.join()}`);
  const { port, pid, startedAt, scheme, host, token } = found;
  if (scheme !== "http" || host !== "127.0.0.1") throw new Error(`${String(scheme)}://${String(host)}`);
  if (typeof token !== "string" || typeof port !== "number" || port <= 0) throw new Error("no door");
  if (typeof pid !== "number" || typeof startedAt !== "number") throw new Error("no process");
  return { port, token, pid, startedAt };
}

export interface Answer {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly bytes: Buffer;
  json(): unknown;
}

export interface Ask {
  readonly method?: string;
  readonly path: string;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** left out: the door's own */
  readonly bearer?: string | null;
}

const answerMaxMs = 20_000;

/** One request over a connection of its own. */
export async function ask(door: Door, what: Ask): Promise<Answer> {
  const socket = await dial(door.port);
  const chunks: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => chunks.push(chunk));
  const over = new Promise<void>((resolve, reject) => {
    socket.on("close", () => resolve());
    socket.on("error", reject);
    socket.setTimeout(answerMaxMs, () => socket.destroy(new Error(`no answer to ${what.path}`)));
  });
  socket.write(requestText(door, what, { connection: "close" }));
  await over;
  return parseAnswer(Buffer.concat(chunks));
}

/** Posts a command and returns its value, or throws on anything but a well-formed 200. */
export async function command(door: Door, name: string, body: object = {}): Promise<unknown> {
  const answer = await post(door, name, body);
  if (answer.status !== 200) throw new Error(`${name} answered ${answer.status}: ${String(answer.bytes)}`);
  return answer.json();
}

export function post(
  door: Door,
  name: string,
  body: object | string = {},
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return ask(door, { method: "POST", path: `/api/${name}`, body: text, headers });
}

function requestText(door: Door, what: Ask, more: Readonly<Record<string, string>>): string {
  const body = what.body ?? "";
  const bearer = what.bearer === undefined ? door.token : what.bearer;
  const headers = {
    host: `127.0.0.1:${door.port}`,
    ...(bearer === null ? {} : { authorization: `Bearer ${bearer}` }),
    ...(what.body === undefined ? {} : { "content-type": "application/json" }),
    "content-length": String(Buffer.byteLength(body)),
    ...more,
    ...what.headers,
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${what.method ?? "GET"} ${what.path} HTTP/1.1\r\n${lines.join("")}\r\n${body}`;
}

function dial(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1", () => resolve(socket));
    socket.once("error", reject);
  });
}

interface Head {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  /** where the body begins */
  readonly end: number;
}

function parseHead(bytes: Buffer): Head | undefined {
  const end = bytes.indexOf("\r\n\r\n");
  if (end < 0) return undefined;
  const [first = "", ...lines] = bytes.subarray(0, end).toString("latin1").split("\r\n");
  const status = Number(/^HTTP\/1\.1 (\d{3}) /u.exec(first)?.[1] ?? Number.NaN);
  const headers = new Map(
    lines.map((line) => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const;
    }),
  );
  return { status, headers, end: end + 4 };
}

function parseAnswer(bytes: Buffer): Answer {
  const head = parseHead(bytes);
  if (head === undefined) throw new Error(`no HTTP answer: ${bytes.toString("latin1").slice(0, 200)}`);
  const raw = bytes.subarray(head.end);
  const isChunked = head.headers.get("transfer-encoding") === "chunked";
  const body = isChunked ? unchunk(raw).bytes : raw;
  const length = head.headers.get("content-length");
  if (!isChunked && Number(length) !== body.length)
    throw new Error(`a length of ${length} for ${body.length} bytes`);
  return {
    ...head,
    bytes: body,
    json() {
      if (head.headers.get("content-type") !== "application/json")
        throw new Error(`the content type is ${head.headers.get("content-type")}`);
      return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
    },
  };
}

/** The content of all whole chunks, and how many bytes they took. */
function unchunk(raw: Buffer): { readonly bytes: Buffer; readonly used: number } {
  const parts: Buffer[] = [];
  let at = 0;
  for (;;) {
    const lineEnd = raw.indexOf("\r\n", at);
    if (lineEnd < 0) break;
    const size = Number.parseInt(raw.subarray(at, lineEnd).toString("latin1"), 16);
    if (!Number.isInteger(size)) throw new Error("a chunk without a size");
    if (raw.length < lineEnd + 2 + size + 2) break;
    parts.push(raw.subarray(lineEnd + 2, lineEnd + 2 + size));
    at = lineEnd + 2 + size + 2;
  }
  return { bytes: Buffer.concat(parts), used: at };
}

/** One event as it came, with the moment of its arrival in `ms` of a clock that doesn't jump. */
export interface SeenEvent {
  readonly channel: string;
  readonly payload: Record<string, unknown>;
  readonly id: number | undefined;
  readonly atMs: number;
}

export interface StrictStream {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly events: readonly SeenEvent[];
  readonly comments: readonly string[];
  /** what the contract doesn't allow; empty when all is well */
  readonly faults: readonly string[];
  until(what: string, done: (events: readonly SeenEvent[]) => boolean, deadlineMs?: number): Promise<void>;
  close(): void;
}

export async function openStream(
  door: Door,
  path = "/events",
  headers: Readonly<Record<string, string>> = {},
): Promise<StrictStream> {
  const socket = await dial(door.port);
  const reader = createFrameReader({ withIds: path.includes("since=") || "last-event-id" in headers });
  let head: Head | undefined;
  let raw = Buffer.alloc(0);
  const watchers = new Set<() => void>();
  const notify = () => {
    for (const watcher of watchers) watcher();
  };
  socket.on("error", () => undefined);
  socket.on("close", notify);
  socket.on("data", (chunk: Buffer) => {
    raw = Buffer.concat([raw, chunk]);
    if (head === undefined) {
      head = parseHead(raw);
      if (head !== undefined) raw = raw.subarray(head.end);
    }
    if (head !== undefined) {
      const { bytes, used } = unchunk(raw);
      raw = raw.subarray(used);
      reader.add(bytes);
    }
    notify();
  });

  function until(what: string, done: () => boolean, deadlineMs: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const finish = (error?: Error) => {
        clearTimeout(timer);
        watchers.delete(look);
        if (error === undefined) resolve();
        else reject(error);
      };
      const timer = setTimeout(() => finish(new Error(`${what}: not within ${deadlineMs} ms`)), deadlineMs);
      function look(): void {
        if (done()) finish();
        else if (socket.closed) finish(new Error(`${what}: the stream is over`));
      }
      watchers.add(look);
      look();
    });
  }

  socket.write(requestText(door, { path, headers }, { accept: "text/event-stream" }));
  await until("the head", () => head !== undefined, 5_000);
  return {
    status: head?.status ?? 0,
    headers: head?.headers ?? new Map(),
    ...reader.seen,
    until: (what, done, deadlineMs = 15_000) => until(what, () => done(reader.seen.events), deadlineMs),
    close: () => socket.destroy(),
  };
}

/** Judges each frame by itself and collects what it carries. */
function createFrameReader(options: { readonly withIds: boolean }) {
  const seen = { events: [] as SeenEvent[], comments: [] as string[], faults: [] as string[] };
  let rest = "";
  let count = 0;
  const decoder = new TextDecoder("utf-8", { fatal: true });

  function judge(frame: string): void {
    count += 1;
    if (count === 1 && frame !== "retry: 1000") seen.faults.push(`the first frame is ${frame}`);
    if (/^retry: \d+$/u.test(frame)) return;
    if (/^:[^\n]*$/u.test(frame)) {
      seen.comments.push(frame);
      return;
    }
    const match = /^(?:id: (\d+)\n)?data: ([^\n]+)$/u.exec(frame);
    if (match === null) seen.faults.push(`not a frame of the contract: ${frame}`);
    else take(match[1], match[2] ?? "");
  }

  function take(id: string | undefined, text: string): void {
    if (id !== undefined && !options.withIds) seen.faults.push(`an id that nobody asked for: ${id}`);
    const event: { channel: string; payload: Record<string, unknown> } = JSON.parse(text);
    if (Object.keys(event).join() !== "channel,payload") seen.faults.push(`the keys of ${text}`);
    const number = id === undefined ? undefined : Number(id);
    seen.events.push({ ...event, id: number, atMs: performance.now() });
  }

  return {
    seen,
    add(bytes: Buffer) {
      const text = decoder.decode(bytes, { stream: true });
      if (text.includes("\r")) seen.faults.push("a carriage return");
      rest += text;
      const frames = rest.split("\n\n");
      rest = frames.pop() ?? "";
      for (const frame of frames) judge(frame);
    },
  };
}
