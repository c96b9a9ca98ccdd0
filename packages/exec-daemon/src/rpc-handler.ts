/**
 * Hands a request of the wire to its verb: Connect's own adapter, but for what goes wrong before a verb is reached.
 *
 * Connect calls a binary message that it can't parse an internal error. It is the caller's fault, so the answer is
 * `invalid_argument`: a 500 of ours always means a bug of ours.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import {
  type ConnectRouter,
  type ConnectRouterOptions,
  createConnectRouter,
  createContextKey,
  createContextValues,
  type Interceptor,
} from "@connectrpc/connect";
import type { UniversalServerResponse } from "@connectrpc/connect/protocol";
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
    handler(universalRequestFromNodeRequest(request, response, undefined, values))
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

function blameCaller(answer: UniversalServerResponse): UniversalServerResponse {
  if (answer.status !== 500) return answer;
  const body = JSON.stringify({ code: "invalid_argument", message: "the message can't be read" });
  const header = new Headers({ "content-type": "application/json", "x-sand-code": "exec/invalid" });
  return { status: 400, header, body: oneChunk(body) };
}

async function* oneChunk(text: string): AsyncGenerator<Uint8Array> {
  yield new TextEncoder().encode(text);
}
