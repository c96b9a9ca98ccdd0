/**
 * `POST /api/<command>`: finds the command, parses its body, calls its handler.
 *
 * An unknown name is told apart from one that isn't built yet, and both are answered before the body is read, so that a
 * large upload which nobody will take costs nothing.
 */
import { isUtf8 } from "node:buffer";
import {
  BoxError,
  type BuiltCommandName,
  findCommand,
  invariant,
  isBuiltCommand,
  parseRequest,
} from "@sand/protocol";
import type { CommandContext, CommandHandlers } from "./command-handlers.ts";

/** how much of an unknown name is repeated, in characters */
const namedMaxChars = 100;

/** Returns why `name` can't be called, or `undefined`. */
export function refuseCommand(name: string): BoxError | undefined {
  if (isBuiltCommand(name)) return undefined;
  const shown = name.slice(0, namedMaxChars);
  return findCommand(name) === undefined
    ? new BoxError("gateway/unknown-method", `unknown gateway method: ${shown}`)
    : new BoxError("gateway/not-implemented", `${shown} is not built yet`);
}

/** `name` must be a command that `refuseCommand` lets pass. */
export async function dispatchCommand(
  handlers: CommandHandlers,
  name: string,
  body: Buffer | undefined,
  context: CommandContext,
): Promise<unknown> {
  invariant(isBuiltCommand(name), "only built commands are dispatched");
  return call(handlers, name, parseBody(body), context);
}

function call<Name extends BuiltCommandName>(
  handlers: CommandHandlers,
  name: Name,
  body: unknown,
  context: CommandContext,
): Promise<unknown> {
  return handlers[name](parseRequest(name, body), context);
}

/** A missing or empty body counts as `{}`. */
function parseBody(body: Buffer | undefined): unknown {
  if (body === undefined || body.length === 0) return {};
  // Decoding would replace broken bytes without a word, and the prompt would not be the one that was sent.
  if (!isUtf8(body)) throw new BoxError("gateway/bad-request", "the body is not UTF-8");
  try {
    return JSON.parse(body.toString("utf8"));
  } catch (error) {
    throw new BoxError("gateway/bad-request", "the body is not JSON", { cause: error });
  }
}
