/** The relay's place among the gateway's routes: behind the same admission, with bodies that nobody reads but the daemon. */
import { BoxError } from "@sand/protocol";
import type { FastifyInstance } from "fastify";
import type { BoxRelay } from "./box-relay.ts";
import { describeRefusal } from "./relay-refusal.ts";

export function addRelayRoutes(app: FastifyInstance, relay: BoxRelay): void {
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser("*", (_request, _body, done) => done(null, undefined));
    scope.setErrorHandler(async (error, _request, reply) => {
      // What isn't a refusal is a bug, which the gateway's own handler writes down.
      if (!(error instanceof BoxError)) throw error;
      const { status, headers, body } = describeRefusal(error);
      return reply.code(status).headers(headers).send(Buffer.from(body));
    });
    scope.route({
      method: ["GET", "POST", "DELETE"],
      url: "/box/*",
      handler: async (request, reply) => {
        const carryOn = await relay.prepare(request.raw);
        reply.hijack();
        carryOn(reply.raw, request.id);
      },
    });
  });
}
