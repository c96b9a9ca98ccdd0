/**
 * Work that is begun at a start and may be finished later, in steps.
 *
 * `run` leaves the event loop free between steps. `settle` is for who needs the result now: it does all that is left at
 * once, so nobody ever sees half of the work. Work that failed starts over when it is asked for again.
 */
import { setImmediate, setTimeout } from "node:timers/promises";

export interface DeferredSteps {
  /** does the steps one by one, after a moment for who waits for the start */
  run(): Promise<void>;
  settle(): void;
  readonly isDone: boolean;
}

/** how long the first questions to a fresh process have it for themselves, in `ms` */
const headStartMs = 30;

/** `begin` starts the work from its beginning. */
export function createDeferredSteps(begin: () => Iterator<undefined, void>): DeferredSteps {
  let steps: Iterator<undefined, void> | undefined;
  let isDone = false;

  function step(): void {
    steps ??= begin();
    try {
      isDone = steps.next().done === true;
    } catch (error) {
      steps = undefined;
      throw error;
    }
  }

  return {
    async run() {
      if (!isDone) await setTimeout(headStartMs);
      while (!isDone) {
        step();
        await setImmediate();
      }
    },
    settle() {
      while (!isDone) step();
    },
    get isDone() {
      return isDone;
    },
  };
}
