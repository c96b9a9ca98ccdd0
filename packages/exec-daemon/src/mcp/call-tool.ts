/**
 * CallTool: progress as it comes, then the result. The call ends with its caller: a stream that is closed cancels it at
 * the server. A caller that is slow loses old progress, never the result.
 */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { BoxError } from "@sand/protocol";
import type {
  McpCallToolRequest,
  McpCallToolResponseSchema,
  McpToolResultSchema,
} from "@sand/protocol/exec-mcp";
import { limits } from "../limits.ts";
import { mcpLimits } from "./mcp-limits.ts";
import { type Fields, jsonOf, parseObject } from "./read-fields.ts";
import type { ServerHandle } from "./server-handle.ts";
import type { ServerSet } from "./server-set.ts";

type CallEvent = MessageInitShape<typeof McpCallToolResponseSchema>;
type Progress = { progress: number; total?: number; message?: string };

export type CallTool = (request: McpCallToolRequest, signal: AbortSignal) => AsyncGenerator<CallEvent>;

export function createCallTool(servers: ServerSet): CallTool {
  const running = new Map<string, number>();

  function enter(id: string): () => void {
    const count = running.get(id) ?? 0;
    if (count >= mcpLimits.callsMax)
      throw new BoxError("exec/too-many", `${mcpLimits.callsMax} calls of this MCP server are on their way`);
    running.set(id, count + 1);
    return () => {
      const left = (running.get(id) ?? 1) - 1;
      if (left === 0) running.delete(id);
      else running.set(id, left);
    };
  }

  return async function* callTool(request, signal) {
    const args = parseCall(request);
    const handle = servers.find(request.serverId);
    const leave = enter(request.serverId);
    const done = handle.touch();
    const ending = new AbortController();
    try {
      const queue = createProgressQueue();
      const result = runCall({
        handle,
        request,
        args,
        queue,
        signal: AbortSignal.any([signal, ending.signal]),
      });
      result.then(queue.wake, queue.wake);
      let isOver = false;
      const over = result.finally(() => {
        isOver = true;
      });
      over.catch(() => undefined);
      while (!isOver) {
        yield* queue.take();
        if (!isOver && !(await queue.after(limits.keepaliveEveryMs)))
          yield { event: { case: "keepalive", value: {} } };
      }
      yield* queue.take();
      yield { event: { case: "result", value: toResult(await result) } };
    } finally {
      ending.abort();
      done();
      leave();
    }
  };
}

function parseCall(request: McpCallToolRequest): Fields {
  if (request.name === "" || request.name.length > mcpLimits.namesMaxChars)
    throw new BoxError("exec/invalid", "the tool's name is empty or too long");
  if (request.argumentsJson.length > mcpLimits.argumentsMaxBytes)
    throw new BoxError("exec/invalid", "the arguments are too long");
  return parseObject(request.argumentsJson, "arguments_json");
}

interface Call {
  readonly handle: ServerHandle;
  readonly request: McpCallToolRequest;
  readonly args: Fields;
  readonly queue: ProgressQueue;
  readonly signal: AbortSignal;
}

async function runCall({ handle, request, args, queue, signal }: Call): Promise<Fields> {
  const { startMaxMs, callMaxMs } = handle.config;
  const connection = await handle.use(startMaxMs + mcpLimits.startSlackMs, signal);
  return await connection.request({
    method: "tools/call",
    params: { name: request.name, arguments: args },
    maxMs: request.maxMs === 0 ? callMaxMs : Math.min(request.maxMs, mcpLimits.callMaxMs),
    totalMaxMs: mcpLimits.callTotalMaxMs,
    signal,
    onProgress: queue.add,
  });
}

function toResult(answer: Fields): MessageInitShape<typeof McpToolResultSchema> {
  // What servers of the first version of the protocol answer.
  const content = answer.content ?? (answer.toolResult === undefined ? [] : [asText(answer.toolResult)]);
  return {
    isError: answer.isError === true,
    contentJson: jsonOf(Array.isArray(content) ? content : []),
    structuredJson: jsonOf(answer.structuredContent),
  };
}

function asText(value: unknown): Fields {
  return { type: "text", text: typeof value === "string" ? value : jsonOf(value) };
}

interface ProgressQueue {
  add(progress: Progress): void;
  take(): readonly CallEvent[];
  wake(): void;
  /** False when nothing came within that time. */
  after(ms: number): Promise<boolean>;
}

function createProgressQueue(): ProgressQueue {
  let waiting: Progress[] = [];
  let bell = Promise.withResolvers<true>();

  function wake(): void {
    bell.resolve(true);
    bell = Promise.withResolvers<true>();
  }

  return {
    wake,
    add(progress) {
      waiting.push(progress);
      if (waiting.length > mcpLimits.progressMax) waiting.shift();
      wake();
    },
    take() {
      const taken = waiting;
      waiting = [];
      return taken.map(toEvent);
    },
    async after(ms) {
      if (waiting.length > 0) return true;
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<false>((resolve) => {
        timer = setTimeout(resolve, ms, false as const);
      });
      try {
        return await Promise.race([bell.promise, late]);
      } finally {
        clearTimeout(timer);
      }
    },
  };
}

function toEvent({ progress, total, message }: Progress): CallEvent {
  const value = {
    progress: Number(progress),
    ...(typeof total === "number" ? { total } : {}),
    message: (typeof message === "string" ? message : "").slice(0, mcpLimits.textMaxChars),
  };
  return { event: { case: "progress", value } };
}
