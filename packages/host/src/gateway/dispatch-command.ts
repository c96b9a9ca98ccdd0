/**
 * `POST /api/<command>`: finds the command, parses its body, calls its handler.
 *
 * An unknown name is told apart from one that isn't built yet, and both are answered before the body is looked at, so
 * a client learns what is wrong first.
 */
import { isUtf8 } from "node:buffer";
import { BoxError, type BuiltCommandName, findCommand, isBuiltCommand, parseRequest } from "@sand/protocol";
import type { CommandContext, CommandHandlers } from "./command-handlers.ts";

/** how much of an unknown name is repeated, in characters */
const namedMaxChars = 100;

export async function dispatchCommand(
  handlers: CommandHandlers,
  name: string,
  body: Buffer | undefined,
  context: CommandContext,
): Promise<unknown> {
  if (!isBuiltCommand(name)) throw refusal(name);
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

function refusal(name: string): BoxError {
  const shown = name.slice(0, namedMaxChars);
  if (findCommand(name) !== undefined)
    return new BoxError("gateway/not-implemented", `${shown} is not built yet`);
  return new BoxError("gateway/unknown-method", `unknown gateway method: ${shown}`);
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
