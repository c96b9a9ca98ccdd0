/**
 * Tickets: a short-lived, one-use stand-in for the bearer, for clients that can't set a header. A ticket opens one
 * terminal in one way, once; that is why it may stand in an address, where the bearer may not.
 */
import { createHash, randomBytes } from "node:crypto";
import { BoxError, type Clock } from "@sand/protocol";
import { ptyLimits } from "./pty-limits.ts";

export interface TicketGrant {
  readonly terminalId: string;
  readonly mode: "write" | "view";
}

export interface Tickets {
  mint(grant: TicketGrant): { readonly ticket: string; readonly expiresAtMs: number };
  /** The grant, once; undefined for one that is unknown, used or too old. */
  redeem(ticket: string): TicketGrant | undefined;
}

export function createTickets(clock: Pick<Clock, "nowMs">): Tickets {
  const open = new Map<string, TicketGrant & { readonly expiresAtMs: number }>();

  function forgetOld(): void {
    for (const [key, { expiresAtMs }] of open) if (expiresAtMs <= clock.nowMs()) open.delete(key);
  }

  return {
    mint(grant) {
      forgetOld();
      if (open.size >= ptyLimits.ticketsMax)
        throw new BoxError("exec/too-many", `${ptyLimits.ticketsMax} tickets are open already`);
      const ticket = randomBytes(32).toString("base64url");
      const expiresAtMs = clock.nowMs() + ptyLimits.ticketTtlMs;
      open.set(digest(ticket), { ...grant, expiresAtMs });
      return { ticket, expiresAtMs };
    },
    redeem(ticket) {
      forgetOld();
      // By digest, so that the time of the look-up tells nothing about the ticket itself.
      const key = digest(ticket);
      const grant = open.get(key);
      open.delete(key);
      return grant === undefined ? undefined : { terminalId: grant.terminalId, mode: grant.mode };
    },
  };
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("base64");
}
