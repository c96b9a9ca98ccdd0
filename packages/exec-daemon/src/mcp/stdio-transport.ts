/**
 * The SDK's transport over a server's process, with our bounds on what it may send and on what we hold for it. Written
 * anew because the SDK's own starts the program itself and ends only that one process.
 */
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import { BoxError } from "@sand/protocol";
import { createFlowBudget } from "./flow-budget.ts";
import type { LogRing } from "./log-ring.ts";
import { mcpLimits } from "./mcp-limits.ts";
import { createMessageLines } from "./message-lines.ts";
import type { ServerProcess } from "./spawn-server.ts";

export interface StdioTransportDeps {
  readonly server: ServerProcess;
  readonly logRing: LogRing;
  /** Checks and types one message; throws when it is none. */
  readonly parseMessage: (value: object) => JSONRPCMessage;
  /** The first reason for the end of the connection. */
  readonly onEnd: (reason: BoxError) => void;
}

/** between the end of a process and the end of its output */
const lastWordsMs = 300;

export function createStdioTransport(deps: StdioTransportDeps): Transport {
  const { server, logRing } = deps;
  const budget = createFlowBudget(mcpLimits, () => performance.now());
  const lines = createMessageLines({
    ...mcpLimits,
    onJunk: (line) =>
      logRing.add(Buffer.concat([line.subarray(0, mcpLimits.textMaxChars), Buffer.from("\n")])),
  });
  let [isOver, isDraining] = [false, false];
  let resume: NodeJS.Timeout | undefined;

  function fail(error: unknown, text: string): void {
    end(error instanceof BoxError ? error : new BoxError("mcp/malformed", text, { cause: error }));
  }

  function end(reason: BoxError): void {
    if (isOver) return;
    isOver = true;
    clearTimeout(resume);
    deps.onEnd(reason);
    transport.onclose?.();
  }

  function hear(message: object): void {
    try {
      transport.onmessage?.(deps.parseMessage(message));
    } catch (error) {
      transport.onerror?.(error instanceof Error ? error : new Error(String(error)));
    }
  }

  /** Hands on what is there until the budget is spent, and stops reading then. */
  async function drain(): Promise<void> {
    resume = undefined;
    isDraining = true;
    try {
      for (let found = lines.next(); found !== undefined && !isOver; found = lines.next()) {
        hear(found.message);
        // The SDK hands a notice on a step later, and an answer at once: progress would be lost behind its result.
        await Promise.resolve();
        const waitMs = budget.take(1, found.bytes);
        if (waitMs === 0) continue;
        server.stdout.pause();
        resume = setTimeout(() => void drain(), waitMs);
        return;
      }
      if (!isOver) server.stdout.resume();
    } catch (error) {
      fail(error, "the server's output can't be read");
    } finally {
      isDraining = false;
    }
  }

  const transport: Transport = {
    start() {
      server.stderr.on("data", (bytes: Buffer) => logRing.add(bytes));
      server.stdout.on("data", (bytes: Buffer) => {
        if (isOver) return;
        try {
          lines.push(bytes);
        } catch (error) {
          fail(error, "the server's output can't be read");
          return;
        }
        if (resume === undefined && !isDraining) void drain();
      });
      server.stdout.on("close", () => void endWithProcess(deps, end));
      void server.exited.then(() => endWithProcess(deps, end));
      return Promise.resolve();
    },
    send(message) {
      const text = `${JSON.stringify(message)}\n`;
      if (isOver) return Promise.reject(new BoxError("mcp/unavailable", "the server is gone"));
      if (server.stdin.writableLength + text.length > mcpLimits.unsentMaxBytes) {
        end(new BoxError("mcp/unavailable", "the server doesn't read what it is sent"));
        return Promise.reject(new BoxError("mcp/unavailable", "the server doesn't read what it is sent"));
      }
      server.stdin.write(text);
      return Promise.resolve();
    },
    close() {
      end(new BoxError("mcp/unavailable", "the connection was closed"));
      return Promise.resolve();
    },
  };
  return transport;
}

/** Its output may be closed before it ends, or held open by what it left behind; one of the two is enough. */
async function endWithProcess(
  { server }: StdioTransportDeps,
  end: (reason: BoxError) => void,
): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const timer = setTimeout(resolve, lastWordsMs, "it closed its output");
  const how = await Promise.race([server.exited, promise]);
  clearTimeout(timer);
  if (!server.stdout.closed) await new Promise((go) => setTimeout(go, lastWordsMs));
  end(new BoxError("mcp/unavailable", `the server is gone: ${how}`));
}
