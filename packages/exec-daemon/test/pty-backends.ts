/** Every backend of terminals, so that each rule is shown for all of them. */
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLogger, systemClock } from "@sand/node-kit";
import { chooseKeeper } from "../src/keeper/choose-keeper.ts";
import { createKeeperPool } from "../src/keeper/keeper-pool.ts";
import { createShimBackend } from "../src/keeper/shim-backend.ts";
import { openLedger } from "../src/ledger/ledger.ts";
import { createNodePtyBackend } from "../src/pty/node-pty-backend.ts";
import type { TerminalBackend, TerminalExit, TerminalPipe } from "../src/pty/terminal-backend.ts";
import { hasShim } from "./shim-world.ts";

export interface OpenBackend {
  readonly backend: TerminalBackend;
  dispose(): void;
}

export const backends: readonly { readonly name: string; open(): OpenBackend | Promise<OpenBackend> }[] = [
  {
    name: "node-pty",
    open() {
      const nativesFolder = mkdtempSync(join(tmpdir(), "sand-natives-"));
      return {
        backend: createNodePtyBackend({ nativesFolder }),
        dispose: () => rmSync(nativesFolder, { recursive: true, force: true }),
      };
    },
  },
  // Where no compiler is there is no shim.
  ...(hasShim ? [{ name: "the shim", open: openShim }] : []),
];

async function openShim(): Promise<OpenBackend> {
  const dataRoot = mkdtempSync(join(tmpdir(), "sand-shim-"));
  const log = createLogger({ name: "test", level: "error" });
  const ledger = openLedger({ dataRoot, enabled: true, clock: systemClock, log });
  const env = { PATH: process.env.PATH ?? "" };
  const choice = await chooseKeeper({ mode: "shim", dataRoot, selfCommand: [process.execPath], env });
  const keepers = createKeeperPool(choice.pool);
  return {
    backend: createShimBackend({ ledger, keepers, clock: systemClock }),
    dispose() {
      keepers.close();
      ledger.close();
      choice.sweep();
      rmSync(dataRoot, { recursive: true, force: true });
    },
  };
}

export interface Run {
  readonly pipe: TerminalPipe;
  readonly received: () => Buffer;
  readonly bytes: () => number;
  readonly ended: Promise<TerminalExit>;
}

export interface RunOptions {
  readonly keep?: boolean;
  readonly onData?: (bytes: Buffer) => void;
}

/** Runs a shell's text in a terminal. */
export function runIn(backend: TerminalBackend, script: string, options: RunOptions = {}): Run {
  const parts: Buffer[] = [];
  let bytes = 0;
  const { promise: ended, resolve } = Promise.withResolvers<TerminalExit>();
  const pipe = backend.spawn(
    {
      ...{
        executionId: `terminal:${randomUUID()}`,
        argv: ["/bin/sh", "-c", script],
        cwd: "/",
        cols: 80,
        rows: 24,
      },
      env: { PATH: process.env.PATH ?? "", LANG: "C.UTF-8", TERM: "xterm" },
    },
    {
      onData(piece) {
        bytes += piece.length;
        if (options.keep !== false) parts.push(Buffer.from(piece));
        options.onData?.(piece);
      },
      onExit: resolve,
    },
  );
  return { pipe, ended, received: () => Buffer.concat(parts), bytes: () => bytes };
}
