/**
 * Ends a server with all that it started: first its input is closed, then TERM, then KILL. A server that ignores the
 * first two, or left processes of its own behind, is gone within three seconds all the same.
 *
 * Who belongs to it: all that descends from it, its group, and what carries its marker in its environment. Descent is
 * noted from the start of the end on, because a process whose parent ends has another one from then on. In a sandbox
 * none of this matters: the end of the namespace's first process ends everything in it.
 */
import { isSameProcess, type ProcessIdentity, readProcessIdentity } from "@sand/node-kit";
import type { Clock } from "@sand/protocol";
import type { CommandUser } from "../command-user.ts";
import { findDescendants, findMarked, sendSignal } from "../processes/process-tree.ts";
import { mcpLimits } from "./mcp-limits.ts";

export interface ServerTree {
  /** the process that we started */
  readonly leader: ProcessIdentity;
  readonly marker: string;
  /** in a namespace of its own, which ends with its leader */
  readonly sandboxed: boolean;
  readonly user: CommandUser | undefined;
}

export interface EndServerDeps {
  readonly clock: Clock;
  readonly closeInput: () => void;
}

/** Resolves with the pids that are still there: none, unless the kernel holds one back. */
export async function endServer(tree: ServerTree, deps: EndServerDeps): Promise<readonly number[]> {
  const members = createMembers(tree);
  members.look();
  deps.closeInput();
  if (await isGoneWithin(members, deps.clock, mcpLimits.endInputMs)) return [];
  // TERM to the sandbox's own process would be KILL to what is in it.
  members.signal("SIGTERM", tree.sandboxed ? tree.leader.pid : undefined);
  if (await isGoneWithin(members, deps.clock, mcpLimits.endTermMs)) return [];
  const untilMs = deps.clock.nowMs() + mcpLimits.endKillMs;
  for (;;) {
    members.signal("SIGKILL");
    if (members.look().length === 0) return [];
    if (deps.clock.nowMs() > untilMs) return members.look();
    await deps.clock.sleep(mcpLimits.endLookEveryMs);
  }
}

interface Members {
  /** The living ones; whoever joined them is noted. */
  look(): readonly number[];
  signal(name: NodeJS.Signals, except?: number): void;
}

function createMembers(tree: ServerTree): Members {
  const known = new Map<number, ProcessIdentity>([[tree.leader.pid, tree.leader]]);

  function note(pid: number): void {
    const identity = known.has(pid) ? undefined : readProcessIdentity(pid);
    if (identity !== undefined) known.set(pid, identity);
  }

  const living = (): readonly number[] => [...known.values()].filter(isSameProcess).map(({ pid }) => pid);

  function noteDescendants(): void {
    const covered = new Set<number>();
    for (const pid of living()) {
      if (covered.has(pid)) continue;
      for (const child of findDescendants(pid)) {
        covered.add(child);
        note(child);
      }
    }
  }

  function look(): readonly number[] {
    noteDescendants();
    // The search by marker is the costly one, and whoever is known is enough to go on.
    if (living().length === 0 && !tree.sandboxed)
      for (const pid of findMarked(tree.marker, tree.user)) note(pid);
    return living();
  }

  return {
    look,
    signal(name, except) {
      // The group first: its members can't have children in between.
      if (except === undefined) sendSignal(-tree.leader.pid, name);
      for (const pid of look()) if (pid !== except) sendSignal(pid, name);
    },
  };
}

async function isGoneWithin(members: Members, clock: Clock, maxMs: number): Promise<boolean> {
  const untilMs = clock.nowMs() + maxMs;
  for (;;) {
    if (members.look().length === 0) return true;
    const leftMs = untilMs - clock.nowMs();
    if (leftMs <= 0) return false;
    await clock.sleep(Math.min(leftMs, mcpLimits.endLookEveryMs));
  }
}
