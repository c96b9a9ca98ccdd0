/**
 * What of MCP servers runs, on disk, so that a daemon that was killed leaves none of them behind for good: the next one
 * ends what it finds here before it starts anything.
 */
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type Logger, writeFileAtomicSync } from "@sand/node-kit";
import type { Clock } from "@sand/protocol";
import { endServer, type ServerTree } from "./end-server.ts";

export interface ServerTraces {
  /** What comes back removes the trace. */
  note(tree: ServerTree): () => void;
  /** Ends what an earlier daemon left. */
  endLeftovers(): Promise<void>;
}

export interface ServerTracesDeps {
  readonly folder: string;
  readonly clock: Clock;
  readonly log: Logger;
}

export function openServerTraces({ folder, clock, log }: ServerTracesDeps): ServerTraces {
  mkdirSync(folder, { recursive: true, mode: 0o700 });

  async function endOne(name: string): Promise<void> {
    const path = join(folder, name);
    try {
      // Written whole by ourselves.
      const tree = JSON.parse(readFileSync(path, "utf8")) as ServerTree;
      // A sandbox that was killed while it was set up may have left its first process, so all that carries the marker
      // is looked for.
      const left = await endServer({ ...tree, sandboxed: false }, { clock, closeInput: () => undefined });
      if (left.length > 0) return;
      log.info(
        { event: "mcp.leftover-ended", pid: tree.leader.pid },
        "an MCP server of an earlier daemon is gone",
      );
    } catch (error) {
      log.warn({ event: "mcp.trace-unreadable", err: error }, "the trace of an MCP server can't be read");
    }
    rmSync(path, { force: true });
  }

  return {
    note(tree) {
      const name = createHash("sha256").update(tree.marker).digest("hex").slice(0, 32);
      const path = join(folder, `${name}.json`);
      writeFileAtomicSync(path, JSON.stringify(tree));
      return () => rmSync(path, { force: true });
    },
    async endLeftovers() {
      await Promise.all(readdirSync(folder).map(endOne));
    },
  };
}
