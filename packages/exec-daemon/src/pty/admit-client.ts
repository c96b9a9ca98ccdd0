/**
 * Who may come in on the terminals' port. Pure but for the tickets.
 *
 * The bearer is never taken from an address, because addresses end up in logs; one that carries it is refused, so that
 * the mistake is seen. A page of a browser may open a socket to anywhere, so its origin must be one that was named.
 */
import type { IncomingMessage } from "node:http";
import { bearerMatches } from "@sand/node-kit";
import { BoxError } from "@sand/protocol";
import type { AttachWish } from "./attachment.ts";
import type { TicketGrant, Tickets } from "./tickets.ts";

export interface AdmissionDeps {
  readonly token: string;
  readonly allowedOrigins: readonly string[];
  readonly tickets: Tickets;
}

export type Admission =
  | { readonly kind: "bearer" }
  | { readonly kind: "ticket"; readonly grant: TicketGrant }
  /** nothing was shown: the first message must be the bearer */
  | { readonly kind: "later" };

const secretNames = ["token", "access_token", "bearer", "authorization", "auth", "key"];

export function parseAddress(request: IncomingMessage): URL {
  try {
    return new URL(request.url ?? "", "http://daemon.invalid");
  } catch (error) {
    throw new BoxError("exec/invalid", "the address can't be read", { cause: error });
  }
}

/** Throws `exec/invalid` where the bearer stands in the address. */
export function refuseSecretInAddress(url: URL, token: string): void {
  for (const [name, value] of url.searchParams) {
    if (!secretNames.includes(name.toLowerCase()) && !bearerMatches(`Bearer ${value}`, token)) continue;
    throw new BoxError("exec/invalid", "the bearer may not stand in an address", {
      hint: "send it as a header, get a ticket from POST /tickets, or send it as the first message",
    });
  }
}

/** Throws `box/unauthorized` or `terminal/origin`. */
export function admitUpgrade(deps: AdmissionDeps, request: IncomingMessage, url: URL): Admission {
  const { origin, authorization } = request.headers;
  if (origin !== undefined && !deps.allowedOrigins.includes(origin))
    throw new BoxError("terminal/origin", "pages of that origin may not open terminals here", {
      hint: "name it in SAND_PTY_ALLOWED_ORIGINS",
    });
  if (authorization !== undefined) {
    if (bearerMatches(authorization, deps.token)) return { kind: "bearer" };
    throw unauthorized("a bearer token is needed");
  }
  const ticket = url.searchParams.get("ticket");
  if (ticket === null) return { kind: "later" };
  const grant = deps.tickets.redeem(ticket);
  if (grant === undefined) throw unauthorized("the ticket is unknown, used or too old");
  return { kind: "ticket", grant };
}

/** Throws `exec/invalid` with what is wrong. */
export function parseWish({ searchParams }: URL): AttachWish {
  const mode = searchParams.get("mode") ?? "write";
  if (mode !== "write" && mode !== "view") throw new BoxError("exec/invalid", "mode is write or view");
  const [cols, rows] = [readCount(searchParams, "cols"), readCount(searchParams, "rows")];
  const hasSize = cols !== undefined && rows !== undefined && cols > 0 && rows > 0;
  return {
    mode,
    since: readCount(searchParams, "since"),
    size: hasSize ? { cols, rows } : undefined,
    takeover: ["1", "true"].includes(searchParams.get("takeover") ?? ""),
  };
}

function readCount(values: URLSearchParams, name: string): number | undefined {
  const text = values.get(name);
  if (text === null) return undefined;
  if (!/^\d{1,15}$/u.test(text)) throw new BoxError("exec/invalid", `${name} is a whole number`);
  return Number(text);
}

function unauthorized(message: string): BoxError {
  return new BoxError("box/unauthorized", message);
}
