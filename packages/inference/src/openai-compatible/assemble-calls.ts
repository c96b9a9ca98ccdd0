/**
 * Puts the pieces of streamed tool calls together: each character of the arguments, in order, nothing parsed.
 *
 * Pieces are assigned by index where there is one, else by id, else to the newest call. Providers that use one index
 * for several calls are told apart by what only a new call has: a name together with another id or with a second
 * beginning after complete arguments. Ids are passed on as received, also when missing or repeated.
 */
import type { CallDelta } from "./read-chunk.ts";

export interface AssembledCall {
  readonly providerCallId: string | null;
  readonly name: string;
  readonly argsText: string;
}

export interface CallAssembler {
  add(delta: CallDelta): void;
  readonly count: number;
  /** in the order of their beginnings */
  calls(): readonly AssembledCall[];
}

interface OpenCall {
  readonly index: number | null;
  id: string | null;
  name: string;
  readonly args: string[];
}

export function createCallAssembler(): CallAssembler {
  const open: OpenCall[] = [];

  function add(delta: CallDelta): void {
    const match = findCall(open, delta);
    if (match === undefined || beginsAnother(match, delta)) {
      open.push({ index: delta.index, id: delta.id, name: delta.name ?? "", args: [delta.args] });
      return;
    }
    match.id ??= delta.id;
    if (match.name === "") match.name = delta.name ?? "";
    match.args.push(delta.args);
  }

  return {
    add,
    get count() {
      return open.length;
    },
    calls: () =>
      open.map((call) => ({ providerCallId: call.id, name: call.name, argsText: call.args.join("") })),
  };
}

function findCall(open: readonly OpenCall[], delta: CallDelta): OpenCall | undefined {
  if (delta.index !== null) return open.findLast((call) => call.index === delta.index);
  if (delta.id !== null) return open.findLast((call) => call.id === delta.id);
  return delta.name === null ? open.at(-1) : undefined;
}

function beginsAnother(call: OpenCall, delta: CallDelta): boolean {
  if (delta.name === null) return false;
  if (delta.id !== null && call.id !== null && delta.id !== call.id) return true;
  return delta.args.trimStart().startsWith("{") && isCompleteObject(call.args.join(""));
}

function isCompleteObject(text: string): boolean {
  if (!text.trimEnd().endsWith("}")) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
