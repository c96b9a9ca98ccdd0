/** How many folders all watches of this process look at together, and each one by itself. */
import { BoxError } from "@sand/protocol";
import { fileLimits } from "../file-limits.ts";

export interface WatchBudget {
  take(): void;
  giveBack(): void;
  readonly taken: number;
}

export function createWatchBudgets(): (foldersMax: number) => WatchBudget {
  let all = 0;
  return (asked) => {
    const foldersMax = Math.min(asked || fileLimits.watchFoldersMax, fileLimits.watchFoldersMax);
    let taken = 0;
    return {
      take() {
        if (taken >= foldersMax)
          throw new BoxError(
            "file/watch-limit",
            `there are more than ${foldersMax} folders; name in \`ignore\` what needn't be watched`,
          );
        if (all >= fileLimits.watchFoldersAllMax)
          throw new BoxError(
            "file/watch-limit",
            `all watches together look at ${fileLimits.watchFoldersAllMax} folders; end one of them`,
          );
        taken += 1;
        all += 1;
      },
      giveBack() {
        taken -= 1;
        all -= 1;
      },
      get taken() {
        return taken;
      },
    };
  };
}
