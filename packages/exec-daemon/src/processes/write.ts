/**
 * Write and CloseStdin: input by offset. The bytes are appended to a file that the keeper passes on, so a repeat of a
 * write that was answered into the void changes nothing, and input reaches a command whose daemon was restarted.
 */
import { existsSync, statSync } from "node:fs";
import { appendFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createKeyedMutex } from "@sand/node-kit";
import { BoxError } from "@sand/protocol";
import { type CloseStdinRequest, StdinState, type WriteRequest } from "@sand/protocol/exec";
import { executionFiles } from "../ledger/execution-folder.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { TrackedExecution } from "../ledger/tracked-execution.ts";
import { limits } from "../limits.ts";
import { findExecution } from "./find-execution.ts";

interface StdinAnswer {
  readonly state: StdinState;
  readonly nextOffset: bigint;
}

export interface StdinVerbs {
  write(request: WriteRequest): Promise<StdinAnswer>;
  closeStdin(request: CloseStdinRequest): Promise<StdinAnswer>;
}

export function createStdinVerbs(ledger: Ledger): StdinVerbs {
  const oneByOne = createKeyedMutex();

  return {
    write: (request) =>
      oneByOne(request.processId, async () => {
        const execution = findExecution(ledger, request.processId);
        const size = inputSize(execution);
        const offset = Number(request.offset);
        const isRepeat = offset + request.data.length <= size;
        if (offset <= size && isRepeat) return answer(StdinState.ACCEPTED, size);
        if (isInputOver(execution)) return answer(StdinState.CLOSED, size);
        if (offset > size) return answer(StdinState.WRONG_OFFSET, size);
        const fresh = request.data.subarray(size - offset);
        if (size + fresh.length > limits.stdinMaxBytes) {
          throw new BoxError("exec/too-many", "this command has had all the input that it may have");
        }
        await appendFile(join(execution.folder, executionFiles.stdin), fresh, { mode: 0o600 });
        return answer(StdinState.ACCEPTED, size + fresh.length);
      }),
    closeStdin: (request) =>
      oneByOne(request.processId, async () => {
        const execution = findExecution(ledger, request.processId);
        if (!isInputOver(execution))
          await writeFile(join(execution.folder, executionFiles.stdinEnd), "", { mode: 0o600 });
        return answer(StdinState.CLOSED, inputSize(execution));
      }),
  };
}

function answer(state: StdinState, nextOffset: number): StdinAnswer {
  return { state, nextOffset: BigInt(nextOffset) };
}

function inputSize(execution: TrackedExecution): number {
  return statSync(join(execution.folder, executionFiles.stdin), { throwIfNoEntry: false })?.size ?? 0;
}

function isInputOver(execution: TrackedExecution): boolean {
  if (!execution.start.launch.stdin || execution.exit !== undefined) return true;
  return existsSync(join(execution.folder, executionFiles.stdinEnd));
}
