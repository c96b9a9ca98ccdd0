/**
 * Tells a pasted text from typed lines. A paste arrives as many lines at once, and is one prompt: lines that follow
 * each other faster than anyone types are joined, and so is what of the paste still stands in the input line.
 */
export interface LineGatherer {
  push(line: string): void;
  /** hands over what is held back */
  flush(): void;
}

export interface GatherOptions {
  readonly onText: (text: string) => void;
  /** what is typed and not yet sent off; while there is some, a paste isn't finished */
  readonly unfinished: () => string;
  /** calls back after `ms`, unless the returned function is called first */
  readonly schedule: (callback: () => void, ms: number) => () => void;
}

/** far below the time between two keys, far above that between two lines of a paste */
export const pasteGapMs = 30;

export function createLineGatherer(options: GatherOptions): LineGatherer {
  let held: string[] = [];
  let cancel: (() => void) | undefined;

  const flush = (): void => {
    cancel?.();
    cancel = undefined;
    if (held.length === 0) return;
    const text = held.join("\n");
    held = [];
    options.onText(text);
  };
  return {
    flush,
    push: (line) => {
      held.push(line);
      cancel?.();
      cancel = options.schedule(() => {
        if (options.unfinished() === "") flush();
      }, pasteGapMs);
    },
  };
}
