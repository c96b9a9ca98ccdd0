/**
 * One WebSocket to a terminal. It ends with an outcome, never by an exception: what to do about each is decided by
 * whoever holds the session. Bytes that it was given are acknowledged when the person's own terminal has taken them.
 */
import WebSocket from "ws";
import { fieldsOf } from "../chat/feed-event.ts";
import type { PtyServer } from "./pty-server.ts";
import { stripQuestions } from "./strip-questions.ts";

export type ConnectionEnd =
  | { readonly kind: "exited"; readonly code: number | null; readonly signal: string | null }
  /** the daemon said no: status of the upgrade, its words and its hint */
  | {
      readonly kind: "refused";
      readonly status: number;
      readonly message: string;
      readonly hint: string | undefined;
    }
  | { readonly kind: "taken-over" }
  | { readonly kind: "lost" };

export interface ConnectionWish {
  readonly id: string;
  readonly mode: "write" | "view";
  readonly takeover: boolean;
  /** the offset behind what has been shown */
  readonly since: number | undefined;
  readonly size: { readonly cols: number; readonly rows: number };
}

export interface ConnectionEvents {
  readonly onGreeted: () => void;
  /** a picture of the whole screen */
  readonly onPicture: (data: string) => Promise<void>;
  readonly onOutput: (bytes: Buffer) => Promise<void>;
  readonly onTrouble: (message: string) => void;
}

export interface PtyConnection {
  /** the offset behind what has been shown */
  readonly offset: number | undefined;
  readonly ended: Promise<ConnectionEnd>;
  /** Typed before the screen has been shown goes nowhere. */
  type(bytes: Buffer): void;
  resize(size: { readonly cols: number; readonly rows: number }): void;
  close(): void;
}

const ackEveryBytes = 5_000;
/** the daemon pings more often than that */
const silentMaxMs = 20_000;
const messageMaxBytes = 8 * 1024 * 1024;
const refusalMaxBytes = 16_384;
const replayChannel = 3;

export function openConnection(
  server: PtyServer,
  wish: ConnectionWish,
  events: ConnectionEvents,
): PtyConnection {
  const { promise: ended, resolve: end } = Promise.withResolvers<ConnectionEnd>();
  const socket = new WebSocket(addressOf(server, wish), {
    ...{ headers: { authorization: `Bearer ${server.token}` }, perMessageDeflate: false },
    ...{ maxPayload: messageMaxBytes, handshakeTimeout: silentMaxMs },
  });
  let shown = wish.since;
  let acked = 0;
  let awaited = Number.POSITIVE_INFINITY;
  let exit: ConnectionEnd | undefined;
  let work: Promise<void> = Promise.resolve();
  let silence = setTimeout(() => socket.terminate(), silentMaxMs);

  function hear(): void {
    clearTimeout(silence);
    silence = setTimeout(() => socket.terminate(), silentMaxMs);
  }

  function say(message: Readonly<Record<string, unknown>>): void {
    if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
  }

  function acknowledge(isDue: boolean): void {
    if (shown === undefined || (!isDue && shown - acked < ackEveryBytes)) return;
    acked = shown;
    say({ type: "ack", offset: shown });
  }

  async function showBytes(data: Buffer): Promise<void> {
    const isReplay = data[0] === replayChannel;
    const bytes = data.subarray(isReplay ? 9 : 1);
    await events.onOutput(isReplay ? stripQuestions(bytes) : bytes);
    shown = (shown ?? 0) + bytes.length;
    acknowledge(isReplay && shown >= awaited);
  }

  async function obey(message: Readonly<Record<string, unknown>>): Promise<void> {
    const { type, offset } = message;
    if (type === "hello" && typeof offset === "number") {
      awaited = message.replay === "none" ? 0 : offset;
      if (message.replay === "bytes") shown = Number(message.from);
      if (message.replay === "none") shown = offset;
      events.onGreeted();
    } else if (type === "snapshot" && typeof offset === "number") {
      await events.onPicture(String(message.data));
      shown = offset;
      awaited = 0;
      acknowledge(true);
    } else if (type === "exit") {
      const { code, signal } = message;
      const name = typeof signal === "string" ? signal : null;
      exit = { kind: "exited", code: typeof code === "number" ? code : null, signal: name };
    } else if (type === "error") events.onTrouble(String(message.message));
  }

  socket.on("ping", hear);
  socket.on("message", (data: Buffer, isBinary: boolean) => {
    hear();
    // One after the other, and no faster than the person's terminal takes it.
    socket.pause();
    work = work
      .then(() => (isBinary ? showBytes(data) : obey(fieldsOf(parse(data)))))
      .catch((error: unknown) => events.onTrouble(String(error)))
      .finally(() => socket.resume());
  });
  socket.on("unexpected-response", (_request, response) => {
    void readRefusal(response).then((refusal) => {
      end(refusal);
      socket.terminate();
    });
  });
  socket.on("error", () => undefined);
  socket.on("close", (code) => {
    clearTimeout(silence);
    void work.then(() => end(exit ?? (code === 4001 ? { kind: "taken-over" } : { kind: "lost" })));
  });

  return {
    ended,
    get offset() {
      return shown;
    },
    type(bytes) {
      if (socket.readyState !== WebSocket.OPEN || acked < awaited) return;
      socket.send(Buffer.concat([Buffer.of(0), bytes]));
    },
    resize: (size) => say({ type: "resize", cols: size.cols, rows: size.rows }),
    close: () => socket.close(1000),
  };
}

function addressOf({ base }: PtyServer, { id, mode, takeover, since, size }: ConnectionWish): string {
  const query = new URLSearchParams({
    ...{ mode, ...(takeover ? { takeover: "1" } : {}) },
    ...(since === undefined ? {} : { since: String(since) }),
    ...{ cols: String(size.cols), rows: String(size.rows) },
  });
  return `${base.replace(/^http/u, "ws")}/terminals/${encodeURIComponent(id)}/attach?${query}`;
}

async function readRefusal(
  response: AsyncIterable<Buffer> & { readonly statusCode?: number | undefined },
): Promise<ConnectionEnd> {
  let text = "";
  for await (const part of response) text = (text + part.toString()).slice(0, refusalMaxBytes);
  const { message, hint } = fieldsOf(parse(text));
  const status = response.statusCode ?? 0;
  return {
    ...{ kind: "refused", status, message: typeof message === "string" ? message : `HTTP ${status}` },
    hint: typeof hint === "string" ? hint : undefined,
  };
}

function parse(data: Buffer | string): unknown {
  try {
    return JSON.parse(data.toString());
  } catch {
    // A daemon newer than we are may say what we don't know.
    return {};
  }
}
