/**
 * A person at a terminal: from the first connection, over lost ones, to the end. A connection that is lost is made
 * again from the offset that has been shown, for a while; the terminal itself is nothing that we could lose.
 */
import { constants } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import { CommandFailure } from "../command-failure.ts";
import { exitCodes, exitNameOfStatus } from "../exit-codes.ts";
import { type DetachKey, splitTyped } from "./detach-key.ts";
import { type LocalTty, openLocalTty } from "./local-tty.ts";
import { type ConnectionEnd, openConnection, type PtyConnection } from "./pty-connection.ts";
import type { PtyServer } from "./pty-server.ts";

export interface AttachOptions {
  readonly id: string;
  readonly mode: "write" | "view";
  readonly takeover: boolean;
  readonly detachKey: DetachKey;
  /** asked anew before each connection: a daemon that was started again is elsewhere */
  readonly locate: () => PtyServer | undefined;
  readonly note: (text: string) => void;
}

const retryMinMs = 200;
const retryMaxMs = 2_000;
const outageMaxMs = 60_000;

export async function attach(options: AttachOptions): Promise<number> {
  const { promise: left, resolve: leave } = Promise.withResolvers<number>();
  let connection: PtyConnection | undefined;
  let trouble: string | undefined;
  let hasLeft = false;
  const tty = openLocalTty(
    { input: process.stdin, output: process.stdout },
    {
      onTyped(typed) {
        const { bytes, leaves } = splitTyped(typed, options.detachKey);
        if (leaves) leave(exitCodes.ok);
        else if (options.mode === "write") connection?.type(bytes);
      },
      onResize() {
        if (options.mode === "write") connection?.resize(tty.size);
      },
      onSignal: (name) => leave(128 + constants.signals[name]),
    },
  );
  try {
    const talking = talk({
      ...{ options, tty, isOver: () => hasLeft },
      onConnection: (next) => {
        connection = next;
      },
      onTrouble: (message) => {
        trouble = message;
      },
    });
    const status = await Promise.race([talking, left.finally(() => (hasLeft = true))]);
    tty.restore();
    if (hasLeft) options.note(`sand: left ${options.id}; it runs on. sand attach ${options.id}`);
    if (trouble !== undefined) options.note(`sand: ${trouble}`);
    return status;
  } finally {
    tty.restore();
    connection?.close();
  }
}

interface Talk {
  readonly options: AttachOptions;
  readonly tty: LocalTty;
  readonly isOver: () => boolean;
  readonly onConnection: (connection: PtyConnection) => void;
  readonly onTrouble: (message: string) => void;
}

/** The status to end with. Throws what can't be mended by trying again. */
async function talk({ options, tty, isOver, onConnection, onTrouble }: Talk): Promise<number> {
  let since: number | undefined;
  let takeover = options.takeover;
  let [waitMs, lostAtMs] = [retryMinMs, Date.now()];
  let hasBeenThere = false;
  for (;;) {
    const server = options.locate();
    if (server !== undefined) {
      const { id, mode } = options;
      const connection = openConnection(
        server,
        { id, mode, takeover, since, size: tty.size },
        {
          onGreeted() {
            [waitMs, hasBeenThere] = [retryMinMs, true];
          },
          onPicture(data) {
            tty.clear();
            return tty.write(data);
          },
          onOutput: (bytes) => tty.write(bytes),
          onTrouble,
        },
      );
      onConnection(connection);
      const end = await connection.ended;
      // Only a connection that was greeted has been lost now; one that wasn't has been lost before.
      if (waitMs === retryMinMs && end.kind === "lost") lostAtMs = Date.now();
      since = connection.offset;
      const status = settle(end, hasBeenThere);
      if (status !== undefined) return status;
      // Our own connection that the daemon hasn't missed yet is in our way.
      takeover = hasBeenThere || options.takeover;
    }
    if (isOver()) return exitCodes.ok;
    if (Date.now() - lostAtMs > outageMaxMs || !hasBeenThere)
      throw new CommandFailure("notRunning", "the connection to the terminal is lost", {
        hint: `try again: sand attach ${options.id}`,
      });
    await delay(waitMs);
    waitMs = Math.min(waitMs * 2, retryMaxMs);
  }
}

/** Undefined: try again. */
function settle(end: ConnectionEnd, hasBeenThere: boolean): number | undefined {
  switch (end.kind) {
    case "lost":
      return undefined;
    case "exited": {
      const { code, signal } = end;
      const number = Object.entries(constants.signals).find(([name]) => name === signal)?.[1] ?? 0;
      return code ?? 128 + number;
    }
    case "taken-over":
      throw new CommandFailure("conflict", "another client has taken over the terminal", {
        hint: "look on with --view, or take it back with --takeover",
      });
    case "refused":
      // Whoever relays is there, and says that the daemon isn't yet.
      if (end.status === 503 && hasBeenThere) return undefined;
      if (end.status === 404 && hasBeenThere) {
        throw new CommandFailure("notFound", "the terminal has ended with its daemon");
      }
      if (end.status === 409) {
        throw new CommandFailure("conflict", end.message, {
          hint: "look on with --view, or take over with --takeover",
        });
      }
      throw new CommandFailure(exitNameOfStatus(end.status), end.message, {
        ...(end.hint === undefined ? {} : { hint: end.hint }),
      });
  }
}
