/**
 * A fetch whose answers can't grow without bound: a whole answer, or in a stream of events each single event, has a
 * largest size, and a stream is read only as fast as the budget allows.
 */
import { ReadableStream } from "node:stream/web";
import { BoxError } from "@sand/protocol";
import { createFlowBudget, type FlowBudget } from "./flow-budget.ts";
import { mcpLimits } from "./mcp-limits.ts";

export type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

export interface BoundedFetchDeps {
  readonly inner: Fetch;
  readonly messageMaxBytes: number;
  /** An answer broke off, or was too large. The SDK doesn't tell that to who waits for it. */
  readonly onBroken: (reason: BoxError) => void;
}

export function createBoundedFetch(deps: BoundedFetchDeps): Fetch {
  const budget = createFlowBudget(mcpLimits, () => performance.now());
  return async (input, init) => {
    const response = await deps.inner(input, init);
    if (response.body === null) return response;
    const perEvent = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
    const bounded = limitSize({ body: response.body, perEvent, maxBytes: deps.messageMaxBytes, budget });
    const told = tellBreak(bounded, (error) => {
      const broken = toBreak(error);
      // A stream of notices that nobody waits for is opened again by the SDK.
      const isAwaited = init?.method === "POST" || broken.code === "mcp/too-large";
      if (isAwaited && init?.signal?.aborted !== true) deps.onBroken(broken);
    });
    const { status, statusText, headers } = response;
    const answer = new Response(ReadableStream.from(told), { status, statusText, headers });
    // The SDK looks at it to see where a redirect led.
    Object.defineProperty(answer, "url", { value: response.url });
    return answer;
  };
}

const newline = 0x0a;

interface SizeLimit {
  readonly body: AsyncIterable<Uint8Array>;
  /** the limit is for one event of a stream, not for the whole */
  readonly perEvent: boolean;
  readonly maxBytes: number;
  readonly budget: FlowBudget;
}

async function* limitSize({ body, perEvent, maxBytes, budget }: SizeLimit): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const chunk of body) {
    const end = perEvent ? lastEventEnd(chunk) : -1;
    bytes += end === -1 ? chunk.length : end;
    if (bytes > maxBytes)
      throw new BoxError("mcp/too-large", `the server sent a message of more than ${maxBytes} bytes`);
    if (end !== -1) bytes = chunk.length - end;
    yield chunk;
    const waitMs = budget.take(perEvent ? countEvents(chunk) : 1, chunk.length);
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs).unref());
  }
}

async function* tellBreak(
  body: AsyncIterable<Uint8Array>,
  onBreak: (error: unknown) => void,
): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } catch (error) {
    onBreak(error);
    throw error;
  }
}

function toBreak(error: unknown): BoxError {
  if (error instanceof BoxError) return error;
  return new BoxError("mcp/unavailable", "the server's answer broke off", { cause: error });
}

/** Behind the last blank line, which ends an event; -1 when there is none. */
function lastEventEnd(chunk: Uint8Array): number {
  for (let at = chunk.length - 1; at > 0; at -= 1) {
    if (chunk[at] !== newline) continue;
    const before = chunk[at - 1] === 0x0d ? chunk[at - 2] : chunk[at - 1];
    if (before === newline) return at + 1;
  }
  return -1;
}

/** About as many as there are: an event has a line for its name, one for its data and a blank one. */
function countEvents(chunk: Uint8Array): number {
  let lines = 0;
  for (const byte of chunk) if (byte === newline) lines += 1;
  return Math.max(1, Math.ceil(lines / 3));
}
