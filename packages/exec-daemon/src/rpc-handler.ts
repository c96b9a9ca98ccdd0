/**
 * Hands a request of the wire to its verb: Connect's own adapter, but for what goes wrong before a verb is reached.
 *
 * Connect calls a binary message that it can't parse an internal error. It is the caller's fault, so the answer is
 * `invalid_argument`: a 500 of ours always means a bug of ours.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import {
  Code,
  ConnectError,
  type ConnectRouter,
  type ConnectRouterOptions,
  createConnectRouter,
  createContextKey,
  createContextValues,
  type Interceptor,
} from "@connectrpc/connect";
import type { UniversalServerRequest, UniversalServerResponse } from "@connectrpc/connect/protocol";
import { universalRequestFromNodeRequest, universalResponseToNodeResponse } from "@connectrpc/connect-node";
import type { Logger } from "@sand/node-kit";

export interface RpcHandlerDeps {
  readonly routes: (router: ConnectRouter) => void;
  readonly options: ConnectRouterOptions;
  readonly log: Logger;
}

const hasReachedVerb = createContextKey(false);

const noteVerb: Interceptor = (next) => (request) => {
  request.contextValues.set(hasReachedVerb, true);
  return next(request);
};

export function createRpcHandler(
  deps: RpcHandlerDeps,
): (request: IncomingMessage, response: ServerResponse) => void {
  const router = createConnectRouter({
    ...deps.options,
    interceptors: [noteVerb, ...(deps.options.interceptors ?? [])],
  });
  deps.routes(router);
  const handlers = new Map(router.handlers.map((handler) => [handler.requestPath, handler]));
  return (request, response) => {
    const handler = handlers.get(request.url?.split("?", 1)[0] ?? "");
    if (handler === undefined) {
      response.writeHead(404).end();
      return;
    }
    const values = createContextValues();
    const asked = universalRequestFromNodeRequest(request, response, undefined, values);
    handler({ ...asked, body: refuseUnnamedCompression(request, asked.body) })
      .then((answer) =>
        universalResponseToNodeResponse(values.get(hasReachedVerb) ? answer : blameCaller(answer), response),
      )
      .catch((error: unknown) => {
        // The caller went away in the middle; what it asked for is in the ledger.
        deps.log.debug(
          { event: "rpc.answer-lost", method: handler.method.name, err: error },
          "an answer was lost",
        );
        response.destroy();
      });
  };
}

const isCompressed = 1;

/** Connect calls a message that says it is compressed, and no header how, an internal error. It is the caller's. */
function refuseUnnamedCompression(
  { headers }: IncomingMessage,
  body: UniversalServerRequest["body"],
): UniversalServerRequest["body"] {
  const encoding = headers["connect-content-encoding"] ?? "identity";
  const isStream = headers["content-type"]?.startsWith("application/connect+") === true;
  return isStream && encoding === "identity" && isPieces(body) ? firstFrameAsIs(body) : body;
}

function isPieces(body: UniversalServerRequest["body"]): body is AsyncIterable<Uint8Array> {
  return typeof body === "object" && body !== null && Symbol.asyncIterator in body;
}

async function* firstFrameAsIs(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let isFirst = true;
  for await (const piece of body) {
    if (isFirst && piece.length > 0) {
      isFirst = false;
      if (((piece[0] ?? 0) & isCompressed) !== 0)
        throw new ConnectError(
          "the message is compressed, and connect-content-encoding doesn't say how",
          Code.InvalidArgument,
          {
            "x-sand-code": "exec/invalid",
          },
        );
    }
    yield piece;
  }
}

function blameCaller(answer: UniversalServerResponse): UniversalServerResponse {
  if (answer.status !== 500) return answer;
  const body = JSON.stringify({ code: "invalid_argument", message: "the message can't be read" });
  const header = new Headers({ "content-type": "application/json", "x-sand-code": "exec/invalid" });
  return { status: 400, header, body: oneChunk(body) };
}

async function* oneChunk(text: string): AsyncGenerator<Uint8Array> {
  yield new TextEncoder().encode(text);
}
