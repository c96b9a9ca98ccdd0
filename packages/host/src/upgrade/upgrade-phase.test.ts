import { expect, test } from "vitest";
import { nextPhase } from "./upgrade-phase.ts";

test("an upgrade is prepared, and either followed up or abandoned", () => {
  expect(nextPhase("open", "prepare")).toBe("quiescing");
  expect(nextPhase("quiescing", "settled")).toBe("prepared");
  expect(nextPhase("prepared", "abandoned")).toBe("open");
  expect(nextPhase("prepared", "close")).toBe("closing");
});

test("a host that closes takes nothing up again, and one that is prepared isn't prepared twice", () => {
  for (const event of ["prepare", "settled", "abandoned", "close"] as const)
    expect(nextPhase("closing", event)).toBeUndefined();
  expect(nextPhase("prepared", "prepare")).toBeUndefined();
  expect(nextPhase("open", "abandoned")).toBeUndefined();
});
