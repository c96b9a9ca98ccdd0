/** JSON answers. The content type carries no charset, since clients compare it; large ones are compressed on request. */
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { FastifyReply, FastifyRequest } from "fastify";
import { acceptsGzip } from "./accepts-gzip.ts";

/** from this size on, in bytes, an answer is compressed for who accepts it */
const gzipMinBytes = 1_400;

const compress = promisify(gzip);

export async function sendJson(
  request: FastifyRequest,
  reply: FastifyReply,
  value: unknown,
): Promise<FastifyReply> {
  const plain = Buffer.from(JSON.stringify(value), "utf8");
  reply.header("content-type", "application/json");
  if (plain.length < gzipMinBytes) return reply.send(plain);
  reply.header("vary", "Accept-Encoding");
  if (!acceptsGzip(request.headers["accept-encoding"])) return reply.send(plain);
  reply.header("content-encoding", "gzip");
  return reply.send(await compress(plain));
}
