import { expect, test } from "vitest";
import { ptyLimits } from "./pty-limits.ts";
import { createTickets } from "./tickets.ts";

function world() {
  let now = 1000;
  const tickets = createTickets({ nowMs: () => now });
  return { tickets, pass: (ms: number) => (now += ms) };
}
const grant = { terminalId: "t", mode: "view" } as const;

test("a ticket opens what it was minted for, and only once", () => {
  const { tickets } = world();
  const { ticket } = tickets.mint(grant);
  expect(tickets.redeem(ticket)).toEqual(grant);
  expect(tickets.redeem(ticket)).toBeUndefined();
});

test("a ticket that is too old opens nothing", () => {
  const { tickets, pass } = world();
  const { ticket, expiresAtMs } = tickets.mint(grant);
  expect(expiresAtMs).toBe(1000 + ptyLimits.ticketTtlMs);
  pass(ptyLimits.ticketTtlMs);
  expect(tickets.redeem(ticket)).toBeUndefined();
});

test("no more tickets are open than the limit, and old ones make room", () => {
  const { tickets, pass } = world();
  for (let count = 0; count < ptyLimits.ticketsMax; count += 1) tickets.mint(grant);
  expect(() => tickets.mint(grant)).toThrow(expect.objectContaining({ code: "exec/too-many" }));
  pass(ptyLimits.ticketTtlMs);
  expect(tickets.mint(grant).ticket).not.toBe("");
});

test("a guess opens nothing", () => {
  expect(world().tickets.redeem("guess")).toBeUndefined();
});
