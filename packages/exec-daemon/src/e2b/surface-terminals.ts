/** The daemon's terminals in the form that the E2B surface speaks of them. */
import { randomUUID } from "node:crypto";
import type { Terminal as SurfaceTerminal, TerminalPort } from "@sand/e2b-surface";
import { createChanges } from "../ledger/changes.ts";
import { ptyLimits } from "../pty/pty-limits.ts";
import type { Terminal, TerminalListener } from "../pty/terminal.ts";
import type { TerminalTable } from "../pty/terminal-table.ts";

/** a missed notice delays output by at most this */
const lookAgainMs = 1000;

const idPrefix = "e2b-";
const ownId = /^e2b-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/u;

/**
 * Ends what a surface before this one has left. Its clients know a terminal by its pid and end it by a limit, and both
 * were in that daemon's memory: nobody would find it again, or end it.
 */
export async function endLeftTerminals(table: TerminalTable): Promise<void> {
  const left = table.list().filter(({ id, exit }) => ownId.test(id) && exit === undefined);
  await Promise.all(left.map((terminal) => terminal.end("kill")));
}

export function createSurfaceTerminals(table: TerminalTable): TerminalPort {
  return {
    async spawn(order) {
      const { terminal } = await table.spawn({
        ...{
          id: `${idPrefix}${randomUUID()}`,
          argv: order.argv,
          cwd: order.cwd,
          env: order.env,
          ...order.size,
        },
        // It lives as long as its client said, whether somebody looks on or not.
        ...{ onDisconnect: "keep", idleGraceMs: ptyLimits.idleGraceMaxMs },
      });
      return toSurface(terminal);
    },
  };
}

function toSurface(terminal: Terminal): SurfaceTerminal {
  return {
    pid: terminal.pid,
    get end() {
      return terminal.exit;
    },
    get offset() {
      return terminal.ring.end;
    },
    output: (offset, signal) => readOutput(terminal, offset, signal),
    write: (bytes) => terminal.write(Buffer.from(bytes)),
    resize: (size) => terminal.resize(size),
    async kill(signal) {
      if (terminal.exit !== undefined) return false;
      await terminal.end(signal === "SIGKILL" ? "kill" : "hup");
      return true;
    },
  };
}

/** Each reader has its own place in the ring and owns no queue; what it misses it has missed. */
async function* readOutput(terminal: Terminal, from: number, signal: AbortSignal) {
  const changes = createChanges();
  const ring = (): void => changes.bump();
  const nothing = (): void => undefined;
  const listener: TerminalListener = {
    ...{ onOutput: ring, onExit: ring, onResize: nothing, onTitle: nothing, onCwd: nothing },
    ...{ onLease: nothing, onTakenOver: nothing, onDrained: nothing },
  };
  const listening = terminal.listen(listener);
  try {
    for (let offset = from; !signal.aborted; ) {
      const seen = changes.version;
      const hasEnded = terminal.exit !== undefined;
      offset = Math.max(offset, terminal.ring.start);
      const bytes = terminal.ring.read(offset, ptyLimits.outputFrameMaxBytes);
      if (bytes !== undefined && bytes.length > 0) {
        yield { offset, bytes };
        offset += bytes.length;
      } else if (hasEnded) return;
      else await changes.after(seen, lookAgainMs, signal);
    }
  } finally {
    listening.stop();
  }
}
