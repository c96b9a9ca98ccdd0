/** Ends a process group: TERM, a grace, then KILL. Whoever wants it ended again while it is going on joins in. */
import type { Clock } from "@sand/protocol";

const lookEveryMs = 50;

export interface GroupEnder {
  /** Resolves when KILL was sent, or the group was gone before. */
  end(): Promise<void>;
}

export function createGroupEnder(deps: {
  readonly clock: Clock;
  readonly pgid: number;
  readonly graceMs: number;
  readonly signal: AbortSignal;
}): GroupEnder {
  let ending: Promise<void> | undefined;

  async function run(): Promise<void> {
    if (!signalGroup(deps.pgid, "SIGTERM")) return;
    for (let waitedMs = 0; waitedMs < deps.graceMs; waitedMs += lookEveryMs) {
      if (deps.signal.aborted || !signalGroup(deps.pgid, 0)) break;
      await deps.clock.sleep(lookEveryMs, deps.signal);
    }
    signalGroup(deps.pgid, "SIGKILL");
  }

  return {
    end() {
      ending ??= run();
      return ending;
    },
  };
}

/** False when the group has no member left; 0 sends nothing and only asks. */
export function signalGroup(pgid: number, name: NodeJS.Signals | 0): boolean {
  try {
    process.kill(-pgid, name);
    return true;
  } catch {
    // ESRCH: nobody is left. EPERM can't be: the group is ours.
    return false;
  }
}
