/** Carries a connection over streamable HTTP. The daemon itself speaks, so no process and no sandbox is involved. */
import { BoxError } from "@sand/protocol";
import { createBoundedFetch, type Fetch } from "./bounded-fetch.ts";
import type { Carrier } from "./mcp-connection.ts";
import { mcpLimits } from "./mcp-limits.ts";
import { createHttpTransport } from "./sdk.ts";

export interface OpenHttp {
  readonly url: string;
  /** adds headers and login */
  readonly fetch: Fetch;
}

/** the server knows the session no more */
const sessionGone = 404;

export async function openHttp({ url, fetch: ownFetch }: OpenHttp): Promise<Carrier> {
  const ended = Promise.withResolvers<BoxError>();
  const bounded = createBoundedFetch({
    inner: ownFetch,
    messageMaxBytes: mcpLimits.messageMaxBytes,
    onBroken: ended.resolve,
  });
  const { transport, endSession } = await createHttpTransport(new URL(url), bounded);
  let ending: Promise<void> | undefined;

  async function end(): Promise<void> {
    ended.resolve(new BoxError("mcp/unavailable", "the connection was closed"));
    await endSession();
    await transport.close();
  }

  return {
    transport,
    pid: 0,
    sandboxed: false,
    ended: ended.promise,
    end() {
      ending ??= end();
      return ending;
    },
    isFatal: (error) =>
      error instanceof TypeError || (error instanceof Error && "code" in error && error.code === sessionGone),
  };
}
