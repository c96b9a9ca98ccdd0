/**
 * What the surface needs of the daemon it belongs to. It has no engine of its own: commands are executions of the
 * daemon's ledger and files go through its file operations, by the same services that every other client uses.
 */
import type { Client } from "@connectrpc/connect";
import type { Files, Processes } from "@sand/protocol/exec";

/** whom commands and file operations run as */
export interface SurfaceAccount {
  /** the name that clients know it by, and that they mean when they name nobody */
  readonly name: string;
  /** its name on this machine */
  readonly realName: string;
  readonly home: string;
}

export interface TerminalSize {
  readonly cols: number;
  readonly rows: number;
}

export interface TerminalOrder {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly size: TerminalSize;
}

export interface TerminalEnd {
  readonly code: number | null;
  readonly signal: string | null;
}

export interface Terminal {
  readonly pid: number;
  /** undefined while it runs */
  readonly end: TerminalEnd | undefined;
  /** how many bytes it has shown so far */
  readonly offset: number;
  /** What it shows from there on, until its end or the signal's. Bytes that aren't kept any more are left out. */
  output(
    offset: number,
    signal: AbortSignal,
  ): AsyncIterable<{ readonly offset: number; readonly bytes: Uint8Array }>;
  write(bytes: Uint8Array): Promise<void>;
  resize(size: TerminalSize): void;
  /** To it and all that it started. False when it has ended already. */
  kill(signal: "SIGTERM" | "SIGKILL"): Promise<boolean>;
}

export interface TerminalPort {
  spawn(order: TerminalOrder): Promise<Terminal>;
}

/** Attributes that a client gives to a file: kept in the file system beside it, in the namespace `user.e2b.`. */
export interface AttributePort {
  /** In the order of the paths; empty where there are none or none can be kept. */
  read(paths: readonly string[]): Promise<readonly Readonly<Record<string, string>>[]>;
  /** Replaces the whole set. False when they can't be kept there. */
  replace(path: string, attributes: Readonly<Record<string, string>>): Promise<boolean>;
}

export interface DaemonPorts {
  readonly processes: Client<typeof Processes>;
  readonly files: Client<typeof Files>;
  /** absent where this machine can't do terminals */
  readonly terminals: TerminalPort | undefined;
  /** absent where they can't be kept at all */
  readonly attributes: AttributePort | undefined;
  readonly account: SurfaceAccount;
}
