/** The file operations of a daemon: in a process of their own, with the journal of writes that stays with the daemon. */
import type { ConnectRouter } from "@connectrpc/connect";
import type { Logger, Scope } from "@sand/node-kit";
import type { BoxPolicy } from "../box-policy.ts";
import { createFileProcess } from "./file-process.ts";
import { registerFiles } from "./file-routes.ts";
import type { BoxFiles } from "./file-verbs.ts";
import { removeHalfWritten } from "./remove-half-written.ts";
import { openWriteJournal } from "./write-journal.ts";

export interface OpenFilesDeps {
  readonly dataRoot: string;
  /** whether writes are remembered */
  readonly ledger: boolean;
  readonly selfCommand: readonly [string, ...string[]];
  readonly policy: BoxPolicy;
  readonly log: Logger;
  readonly scope: Scope;
}

export interface OpenedFiles extends BoxFiles {
  /** Binds all that stands on the file operations to its services. */
  register(router: ConnectRouter): void;
}

export function openBoxFiles(deps: OpenFilesDeps): OpenedFiles {
  const journal = deps.ledger ? openWriteJournal(deps.dataRoot) : undefined;
  if (journal !== undefined) removeHalfWritten(journal, deps.log);
  const files = createFileProcess({ command: deps.selfCommand, policy: deps.policy, journal });
  deps.scope.defer(() => files.close());
  return { ...files, register: (router) => registerFiles(router, files, deps.dataRoot) };
}
