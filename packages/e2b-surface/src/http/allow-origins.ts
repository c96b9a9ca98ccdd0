/**
 * Lets pages of any origin speak to the surface. That gives them nothing: there are no cookies here, a browser adds
 * neither token nor signature by itself, and who has one may ask from anywhere.
 */
import type { ServerResponse } from "node:http";

const methods = "GET, HEAD, POST, OPTIONS";
const preflightMaxAgeS = 7200;

const exposed = [
  ...["Accept-Ranges", "Connect-Accept-Encoding", "Connect-Content-Encoding", "Content-Disposition"],
  ...["Content-Encoding", "Content-Range", "ETag", "Grpc-Message", "Grpc-Status", "Grpc-Status-Details-Bin"],
  ...["Last-Modified", "X-Sand-Code"],
].join(", ");

export function allowOrigins(response: ServerResponse): void {
  response.setHeader("access-control-allow-origin", "*");
  response.setHeader("access-control-expose-headers", exposed);
}

export function answerPreflight(response: ServerResponse, askedHeaders: string | undefined): void {
  response.writeHead(204, {
    "access-control-allow-methods": methods,
    // What is asked for is given back: a token in any header is judged where it is used.
    "access-control-allow-headers": cleanHeaderList(askedHeaders),
    "access-control-max-age": String(preflightMaxAgeS),
    vary: "Access-Control-Request-Headers",
  });
  response.end();
}

const askedMaxChars = 2000;

function cleanHeaderList(asked: string | undefined): string {
  const isList =
    asked !== undefined && asked.length <= askedMaxChars && /^[\w!#$%&'*+.^`|~, -]+$/u.test(asked);
  return isList ? asked : "content-type";
}
