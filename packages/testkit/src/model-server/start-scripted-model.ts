/**
 * A model provider for tests: a real HTTP server that answers from a script, in two wire formats.
 *
 * It judges each request before it answers: by the schema of the official SDK and by our pairing rules. A breach is
 * recorded in `violations` and answered with 400, so that no test passes on a request which a provider would refuse.
 */
import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { JsonObject } from "@sand/protocol";
import { createChatFormat } from "./chat-completions/format.ts";
import { createMessagesFormat } from "./messages/format.ts";
import { faultOf, type ModelScript, type SeenRequest, selectReply } from "./model-script.ts";
import { objectOf } from "./read-json.ts";
import { createRequestLog, type RecordedRequest, type RequestLog, withoutSecrets } from "./request-log.ts";
import { sendJson, sendReply } from "./send-reply.ts";
import type { RequestHeaders, WireFormat } from "./wire-format.ts";

export interface ScriptedModelOptions {
  readonly script: ModelScript;
  /** any other key is answered with 401; nothing is checked when left out */
  readonly apiKey?: string;
  /** what `/v1/models` lists */
  readonly model?: string;
  readonly port?: number;
  /** called for each judged request before it is answered */
  readonly onRequest?: (request: RecordedRequest, userTexts: readonly string[]) => void;
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
  const formats = [createChatFormat(), createMessagesFormat()];
  let script = options.script;

  const server = createServer((request, response) => {
    answer({ request, response, options, log, formats, script }).catch((error: unknown) => {
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
  readonly formats: readonly WireFormat[];
  readonly script: ModelScript;
}

async function answer(exchange: Exchange): Promise<void> {
  const { request, response, options, formats } = exchange;
  const path = new URL(request.url ?? "/", "http://model").pathname;
  const format = formats.find((candidate) => candidate.path === path);
  if (!hasKey(request.headers, options, format === undefined ? formats : [format])) {
    const error = { message: "wrong key", type: "authentication_error", code: "invalid_api_key" };
    sendJson(response, 401, format?.errorBody(error) ?? { error });
    return;
  }
  if (request.method === "GET" && path === "/v1/models") {
    sendJson(response, 200, { object: "list", data: [{ id: options.model ?? "scripted", object: "model" }] });
    return;
  }
  if (request.method !== "POST" || format === undefined) {
    sendJson(response, 404, { error: { message: `no ${path} here`, type: "not_found_error" } });
    return;
  }
  await answerRequest(exchange, format);
}

function hasKey(
  headers: RequestHeaders,
  { apiKey }: ScriptedModelOptions,
  formats: readonly WireFormat[],
): boolean {
  return apiKey === undefined || formats.some((format) => format.hasKey(headers, apiKey));
}

async function answerRequest(exchange: Exchange, format: WireFormat): Promise<void> {
  const { request, response, options, log, script } = exchange;
  const gone = closeSignal(response);
  const bytes = await readBody(request);
  const body = parseBody(bytes);
  const view = format.view(body);
  const violations = format.judge(body, request.headers);
  const bodyDigest = createHash("sha256").update(bytes).digest("hex");
  const { lastUserText, step, toolResults } = view;
  const recorded = log.add(
    {
      atMs: Date.now(),
      path: format.path,
      headers: withoutSecrets(request.headers),
      body,
      bodyDigest,
      lastUserText,
      step,
      toolResultCount: toolResults.length,
      violations,
    },
    bytes.length,
  );
  options.onRequest?.(recorded, view.userTexts);
  if (violations.length > 0) {
    const error = { message: violations.join("; "), type: "invalid_request_error" };
    sendJson(response, 400, format.errorBody(error));
    return;
  }
  const { number, attempt } = recorded;
  const seen: SeenRequest = { number, attempt, lastUserText, step, toolResults, body };
  const reply = selectReply(script, seen);
  const identity = { digest: bodyDigest, model: view.model, includeUsage: format.includesUsage(body) };
  const fault = faultOf(reply, attempt);
  await sendReply({ response, reply, fault, format, identity, stream: view.stream, gone });
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
