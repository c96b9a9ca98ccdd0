/**
 * Work that is begun at a start and may be finished later, in steps.
 *
 * `run` leaves the event loop free between steps. `settle` is for who needs the result now: it does all that is left at
 * once, so nobody ever sees half of the work. Work that failed starts over when it is asked for again.
 */
import { setImmediate } from "node:timers/promises";

export interface DeferredSteps {
  run(): Promise<void>;
  settle(): void;
  readonly isDone: boolean;
}

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
