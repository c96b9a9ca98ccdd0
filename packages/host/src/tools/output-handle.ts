/** A handle names an output that was too long for a result: `exec:<execution id>`. ReadFile reads more of it. */
import { brandId, type ExecutionId } from "@sand/protocol";

const prefix = "exec:";

export function makeOutputHandle(executionId: ExecutionId): string {
  return `${prefix}${executionId}`;
}

/** The execution that a handle names, or `undefined` for anything else. */
export function parseOutputHandle(handle: string): ExecutionId | undefined {
  const id = handle.slice(prefix.length);
  return handle.startsWith(prefix) && id !== "" ? brandId<ExecutionId>(id) : undefined;
}
