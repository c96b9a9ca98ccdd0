/** Reads an event stream from a raw response: bytes as they come, cut into frames at blank lines. */
import { type IncomingMessage, request } from "node:http";
import { constants, createGunzip } from "node:zlib";
import { token } from "./gateway-world.ts";

export interface SseReader {
  readonly response: IncomingMessage;
  /** all frames so far, without their blank line */
  readonly frames: string[];
  /** resolves when `done` holds over the frames; rejects at the deadline or at the stream's end */
  until(done: (frames: readonly string[]) => boolean, deadlineMs?: number): Promise<string[]>;
  /** what came over the wire, before it was decompressed */
  readonly wire: Buffer[];
  /** resolves when the stream has ended or broke */
  readonly ended: Promise<void>;
  close(): void;
}

export function openSse(
  port: number,
  path: string,
  headers: Record<string, string> = {},
): Promise<SseReader> {
  return new Promise((resolve, reject) => {
    const outgoing = request({
      port,
      host: "127.0.0.1",
      path,
      agent: false,
      headers: { authorization: `Bearer ${token}`, ...headers },
    });
    outgoing.on("error", reject);
    outgoing.on("response", (response) => resolve(readFrames(response)));
    outgoing.end();
  });
}

function readFrames(response: IncomingMessage): SseReader {
  const frames: string[] = [];
  const wire: Buffer[] = [];
  response.on("data", (chunk: Buffer) => wire.push(chunk));
  const watchers = new Set<() => void>();
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let rest = "";
  let isOver = false;

  const plain =
    response.headers["content-encoding"] === "gzip"
      ? response.pipe(createGunzip({ finishFlush: constants.Z_SYNC_FLUSH }))
      : response;
  plain.on("data", (chunk: Buffer) => {
    rest += decoder.decode(chunk, { stream: true });
    const parts = rest.split("\n\n");
    rest = parts.pop() ?? "";
    frames.push(...parts);
    for (const watcher of watchers) watcher();
  });
  const ended = new Promise<void>((resolve) => {
    const over = () => {
      isOver = true;
      for (const watcher of watchers) watcher();
      resolve();
    };
    response.on("error", over);
    response.on("close", over);
    plain.on("error", over);
  });

  return {
    response,
    frames,
    wire,
    ended,
    close: () => response.destroy(),
    until: (done, deadlineMs = 5_000) =>
      new Promise((resolve, reject) => {
        const timer = setTimeout(() => fail("deadline"), deadlineMs);
        const look = () => {
          if (done(frames)) {
            clean();
            resolve([...frames]);
          } else if (isOver) fail("the stream is over");
        };
        function clean(): void {
          clearTimeout(timer);
          watchers.delete(look);
        }
        function fail(why: string): void {
          clean();
          reject(new Error(`${why} after ${frames.length} frames; the last is ${frames.at(-1)}`));
        }
        watchers.add(look);
        look();
      }),
  };
}

/** the `id:` of a frame, when it has one */
export function idOf(frame: string): number | undefined {
  const line = frame.split("\n").find((text) => text.startsWith("id: "));
  return line === undefined ? undefined : Number(line.slice(4));
}

export function dataOf(frame: string): { channel: string; payload: unknown } | undefined {
  const line = frame.split("\n").find((text) => text.startsWith("data: "));
  return line === undefined ? undefined : JSON.parse(line.slice(6));
}
