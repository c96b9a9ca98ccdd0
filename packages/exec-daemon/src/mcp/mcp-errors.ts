/** Turns what the SDK throws into our errors. What a server says is for its caller, shortened; it is never logged. */
import { BoxError } from "@sand/protocol";
import { mcpLimits } from "./mcp-limits.ts";

/** the protocol's own codes for what our side noticed */
const sdkCodes = { connectionClosed: -32_000, requestTimeout: -32_001 } as const;

export function toMcpError(error: unknown): BoxError {
  const own = findOwn(error);
  if (own !== undefined) return own;
  const text = error instanceof Error ? error.message : String(error);
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  const name = error instanceof Error ? error.name : "";
  if (code === sdkCodes.requestTimeout)
    return new BoxError("mcp/timeout", "the server did not answer in time", { cause: error });
  if (code === sdkCodes.connectionClosed)
    return new BoxError("mcp/unavailable", "the server is gone", { cause: error });
  if (
    name === "ZodError" ||
    name === "$ZodError" ||
    error instanceof RangeError ||
    error instanceof SyntaxError
  )
    return new BoxError("mcp/malformed", "the server's answer isn't the protocol's", { cause: error });
  if (name === "McpError")
    return new BoxError("mcp/refused", `the server refused: ${shorten(withoutPrefix(text))}`, {
      cause: error,
    });
  return new BoxError("mcp/unavailable", `the server can't be reached: ${shorten(text)}`, { cause: error });
}

/** One of ours, wherever in the chain of causes. */
function findOwn(error: unknown, depth = 0): BoxError | undefined {
  if (error instanceof BoxError) return error;
  return error instanceof Error && depth < 8 ? findOwn(error.cause, depth + 1) : undefined;
}

function withoutPrefix(text: string): string {
  return text.replace(/^MCP error -?\d+: /u, "");
}

export function shorten(text: string, maxChars: number = mcpLimits.textMaxChars): string {
  return text.length <= maxChars ? text : `${text.slice(0, maxChars)} …`;
}
