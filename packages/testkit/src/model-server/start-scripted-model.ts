/**
 * A model provider for tests: a real HTTP server that speaks chat completions and answers from a script.
 *
 * It judges each request before it answers: by the schema of the official SDK and by our pairing rules. A breach is
 * recorded in `violations` and answered with 400, so that no test passes on a request which a provider would refuse.
 */
import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { JsonObject } from "@sand/protocol";
import { objectOf, type RequestView, viewRequest } from "./chat-request.ts";
import { findPairingBreaches } from "./check-pairing.ts";
import { createSchemaCheck } from "./check-schema.ts";
import { faultOf, type ModelScript, type SeenRequest, selectReply } from "./model-script.ts";
import { createRequestLog, type RecordedRequest, type RequestLog, withoutSecrets } from "./request-log.ts";
import { sendJson, sendReply } from "./send-reply.ts";

export interface ScriptedModelOptions {
  readonly script: ModelScript;
  /** any other bearer is answered with 401; nothing is checked when left out */
  readonly apiKey?: string;
  /** what `/v1/models` lists */
  readonly model?: string;
  readonly port?: number;
  /** called for each judged request before it is answered */
  readonly onRequest?: (request: RecordedRequest) => void;
}

export interface ScriptedModel extends AsyncDisposable {
  /** with the `/v1` */
  readonly baseUrl: string;
  readonly port: number;
  /** the newest ones, oldest first */
  readonly requests: readonly RecordedRequest[];
  readonly requestCount: number;
  readonly violations: readonly string[];
  setScript(script: ModelScript): void;
  waitForRequests(count: number, deadlineMs: number): Promise<void>;
  close(): Promise<void>;
}

const bodyMaxBytes = 32 * 1024 * 1024;

export async function startScriptedModel(options: ScriptedModelOptions): Promise<ScriptedModel> {
  const log = createRequestLog();
  const judge = createJudge();
  let script = options.script;

  const server = createServer((request, response) => {
    answer({ request, response, options, log, judge, script }).catch((error: unknown) => {
      if (response.headersSent) response.destroy();
      else sendJson(response, 500, { error: { message: String(error), type: "scripted_model_bug" } });
    });
  });
  const port = await listen(server, options.port ?? 0);

  async function close(): Promise<void> {
    await new Promise<void>((resolve) => {
      server.close(() => resolve());
      // Ends the replies under way as well: each of them stops when its connection closes.
      server.closeAllConnections();
    });
  }

  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    port,
    get requests() {
      return log.requests;
    },
    get requestCount() {
      return log.count;
    },
    violations: log.violations,
    setScript(next) {
      script = next;
    },
    waitForRequests: log.waitFor,
    close,
    [Symbol.asyncDispose]: close,
  };
}

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly options: ScriptedModelOptions;
  readonly log: RequestLog;
  readonly judge: Judge;
  readonly script: ModelScript;
}

async function answer(exchange: Exchange): Promise<void> {
  const { request, response, options } = exchange;
  const path = new URL(request.url ?? "/", "http://model").pathname;
  if (options.apiKey !== undefined && request.headers.authorization !== `Bearer ${options.apiKey}`) {
    sendJson(response, 401, {
      error: { message: "wrong key", type: "authentication_error", code: "invalid_api_key" },
    });
    return;
  }
  if (request.method === "GET" && path === "/v1/models") {
    sendJson(response, 200, { object: "list", data: [{ id: options.model ?? "scripted", object: "model" }] });
    return;
  }
  if (request.method !== "POST" || path !== "/v1/chat/completions") {
    sendJson(response, 404, { error: { message: `no ${path} here`, type: "not_found_error" } });
    return;
  }
  await answerCompletion(exchange, path);
}

async function answerCompletion(exchange: Exchange, path: string): Promise<void> {
  const { request, response, options, log, judge, script } = exchange;
  const gone = closeSignal(response);
  const bytes = await readBody(request);
  const body = parseBody(bytes);
  const view = viewRequest(body);
  const violations = judge(body, view);
  const bodyDigest = createHash("sha256").update(bytes).digest("hex");
  const recorded = log.add(
    {
      atMs: Date.now(),
      path,
      headers: withoutSecrets(request.headers),
      body,
      bodyDigest,
      lastUserText: view.lastUserText,
      step: view.step,
      toolResultCount: view.toolResults.length,
      violations,
    },
    bytes.length,
  );
  options.onRequest?.(recorded);
  if (violations.length > 0) {
    sendJson(response, 400, { error: { message: violations.join("; "), type: "invalid_request_error" } });
    return;
  }
  const seen: SeenRequest = { ...view, number: recorded.number, attempt: recorded.attempt, body };
  const reply = selectReply(script, seen);
  const identity = {
    id: `chatcmpl-${bodyDigest.slice(0, 24)}`,
    model: view.model,
    includeUsage: view.includeUsage,
  };
  await sendReply({
    response,
    reply,
    fault: faultOf(reply, seen.attempt),
    identity,
    stream: view.stream,
    gone,
  });
}

type Judge = (body: JsonObject, view: RequestView) => readonly string[];

function createJudge(): Judge {
  const checkSchema = createSchemaCheck();
  return (body, view) => [...checkSchema(body), ...findPairingBreaches(view.messages)];
}

/** A body that is no JSON becomes an empty object, which the schema refuses. */
function parseBody(bytes: Buffer): JsonObject {
  try {
    return objectOf(JSON.parse(bytes.toString("utf8")));
  } catch {
    return {};
  }
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    const bytes = Buffer.from(chunk);
    size += bytes.length;
    if (size > bodyMaxBytes) throw new Error(`a model request is larger than ${bodyMaxBytes} bytes`);
    chunks.push(bytes);
  }
  return Buffer.concat(chunks);
}

function closeSignal(response: ServerResponse): AbortSignal {
  const controller = new AbortController();
  response.once("close", () => controller.abort());
  return controller.signal;
}

async function listen(server: Server, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", () => {
      server.off("error", reject);
      resolve();
    });
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the model server has no port");
  return address.port;
}
