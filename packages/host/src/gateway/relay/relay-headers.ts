/**
 * Which headers cross the relay. Going in, those by name that the daemon understands: neither the gateway's bearer nor
 * anything that a proxy before us has added. Coming out, all but those that are about the one connection.
 */
import type { IncomingMessage, OutgoingHttpHeaders } from "node:http";

const goingIn: ReadonlySet<string> = new Set([
  "accept",
  "accept-encoding",
  "connect-accept-encoding",
  "connect-content-encoding",
  "connect-protocol-version",
  "connect-timeout-ms",
  "content-encoding",
  "content-length",
  "content-type",
]);
const ofTheUpgrade: ReadonlySet<string> = new Set([
  "connection",
  "sec-websocket-extensions",
  "sec-websocket-key",
  "sec-websocket-protocol",
  "sec-websocket-version",
  "upgrade",
]);
const ofOneConnection: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

export function headersIn(client: IncomingMessage, token: string): OutgoingHttpHeaders {
  return { ...pick(client.rawHeaders, (name) => goingIn.has(name)), authorization: `Bearer ${token}` };
}

export function upgradeHeadersIn(client: IncomingMessage, token: string): OutgoingHttpHeaders {
  return { ...pick(client.rawHeaders, (name) => ofTheUpgrade.has(name)), authorization: `Bearer ${token}` };
}

export function headersOut(answer: IncomingMessage): OutgoingHttpHeaders {
  return pick(answer.rawHeaders, (name) => !ofOneConnection.has(name));
}

/** From what was on the wire, because an earlier hook may have taken names out of the parsed ones. */
function pick(rawHeaders: readonly string[], isMeant: (name: string) => boolean): OutgoingHttpHeaders {
  const picked: Record<string, string> = {};
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = (rawHeaders[at] ?? "").toLowerCase();
    if (isMeant(name)) picked[name] ??= rawHeaders[at + 1] ?? "";
  }
  return picked;
}
