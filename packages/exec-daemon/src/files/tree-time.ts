/** The time that one call may take over a whole tree. Whatever was gathered by then is nothing: half a tree is no tree. */
import { Code, ConnectError } from "@connectrpc/connect";
import { BoxError } from "@sand/protocol";
import { fileLimits } from "./file-limits.ts";

/** Throws `file/too-large` when the time is over; `work` has to heed the signal. */
export async function withinTreeTime<T>(
  caller: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
  maxMs: number = fileLimits.treeMaxMs,
): Promise<T> {
  const deadline = AbortSignal.timeout(maxMs);
  const signal = AbortSignal.any([caller, deadline]);
  try {
    const answer = await work(signal);
    signal.throwIfAborted();
    return answer;
  } catch (error) {
    if (caller.aborted) throw new ConnectError("the caller went away", Code.Canceled);
    if (!deadline.aborted) throw error;
    throw new BoxError(
      "file/too-large",
      `the tree takes longer than ${maxMs / 1000} s; name a smaller folder`,
      {
        hint: "name a folder further down, or more names to ignore",
      },
    );
  }
}
