/**
 * The box's files for the commands that copy and watch, over the daemon's own service. Each call can be made again: the
 * daemon comes back on another port after an outage, and what was sent before it is still there.
 */

import { setTimeout as delay } from "node:timers/promises";
import type { Client } from "@connectrpc/connect";
import type { Files } from "@sand/protocol/exec";
import { CommandFailure } from "../command-failure.ts";
import type { DaemonAddress } from "../exec/box-execution.ts";
import { type ExitName, exitNameOfStatus } from "../exit-codes.ts";
import { isOfAbsence } from "../local-host/call-daemon.ts";
import { noDaemon } from "../local-host/no-daemon.ts";

export type FilesClient = Client<typeof Files>;

export interface BoxFiles {
  /** Makes the call, and makes it again when the daemon was gone for a while. */
  call<T>(work: (files: FilesClient) => Promise<T>): Promise<T>;
  /** A client of the daemon as it is now. */
  client(): Promise<FilesClient>;
}

export interface BoxFilesDeps {
  /** `undefined` while none runs */
  readonly locate: () => DaemonAddress | undefined;
  readonly onOutage: () => void;
  readonly signal: AbortSignal;
}

const callTimeoutMs = 120_000;
const outageMaxMs = 45_000;
const retryEveryMs = 200;

export function createBoxFiles(deps: BoxFilesDeps): BoxFiles {
  let current: { readonly address: DaemonAddress; readonly files: FilesClient } | undefined;
  let answered = false;

  async function client(): Promise<FilesClient> {
    const address = deps.locate();
    if (address === undefined) throw noDaemon();
    if (current?.address.base !== address.base || current.address.token !== address.token)
      current = { address, files: await connect(address) };
    return current.files;
  }

  return {
    client,
    async call(work) {
      let brokenSinceMs: number | undefined;
      for (;;) {
        try {
          const answer = await work(await client());
          answered = true;
          return answer;
        } catch (error) {
          const failure = await toFailure(error);
          if (deps.signal.aborted) throw new CommandFailure("interrupted", "left");
          // Who never answered isn't waited for.
          if (!isOutage(failure) || !answered) throw failure;
          if (brokenSinceMs === undefined) deps.onOutage();
          brokenSinceMs ??= performance.now();
          if (performance.now() - brokenSinceMs > outageMaxMs) throw failure;
          await delay(retryEveryMs);
        }
      }
    },
  };
}

export function isOutage(error: unknown): boolean {
  return error instanceof CommandFailure && (error.exit === "notRunning" || error.failureCode === "file/io");
}

// Loaded with the first call: most commands have no use for it.
async function connect({ base, token }: DaemonAddress): Promise<FilesClient> {
  const [{ createClient }, { createConnectTransport }, { Files }] = await Promise.all([
    import("@connectrpc/connect"),
    import("@connectrpc/connect-node"),
    import("@sand/protocol/exec"),
  ]);
  const transport = createConnectTransport({
    baseUrl: base,
    httpVersion: "1.1",
    acceptCompression: [],
    interceptors: [
      (next) => (request) => {
        request.header.set("authorization", `Bearer ${token}`);
        return next(request);
      },
    ],
  });
  return createClient(Files, transport);
}

export const callOptions = { timeoutMs: callTimeoutMs } as const;

/** What the daemon refuses, in its own words. */
export async function toFailure(error: unknown): Promise<Error> {
  const { Code, ConnectError } = await import("@connectrpc/connect");
  if (!(error instanceof ConnectError)) return error instanceof Error ? error : new Error(String(error));
  const failureCode = error.metadata.get("x-sand-code");
  // All that the daemon says has its code; what has none was said by nobody.
  if (failureCode === null && error.code !== Code.DeadlineExceeded)
    return new CommandFailure("notRunning", "the execution daemon doesn't answer", { cause: error });
  const exit = isOfAbsence(failureCode) ? "notRunning" : exitOf(error.code, Code);
  return new CommandFailure(exit, `the execution daemon: ${error.rawMessage}`, {
    ...(failureCode === null ? {} : { failureCode }),
    ...(error.code === Code.Unauthenticated
      ? { hint: "is SAND_BOX_EXEC_DAEMON_AUTH_TOKEN that of another one?" }
      : {}),
    cause: error,
  });
}

type Codes = typeof import("@connectrpc/connect").Code;

function exitOf(code: number, codes: Codes): ExitName {
  const statuses: Readonly<Record<number, number>> = {
    [codes.InvalidArgument]: 400,
    [codes.Unauthenticated]: 401,
    [codes.PermissionDenied]: 403,
    [codes.NotFound]: 404,
    [codes.AlreadyExists]: 409,
    [codes.Internal]: 500,
  };
  return exitNameOfStatus(statuses[code] ?? 0);
}
