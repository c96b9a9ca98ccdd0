/**
 * The states of an upgrade, as the host that is to be replaced sees them.
 *
 * `open`: nothing is under way. `quiescing`: turns come to their boundaries. `prepared`: the host may be replaced at any
 * moment. `closing`: it ends, whatever it was before. Only the two in the middle can go back.
 */
export type UpgradePhase = "open" | "quiescing" | "prepared" | "closing";
type UpgradeEvent = "prepare" | "settled" | "abandoned" | "close";

const upgradeTransitions = {
  open: { prepare: "quiescing", close: "closing" },
  quiescing: { settled: "prepared", abandoned: "open", close: "closing" },
  prepared: { abandoned: "open", close: "closing" },
  closing: {},
} as const satisfies Record<UpgradePhase, Partial<Record<UpgradeEvent, UpgradePhase>>>;

/** The phase that follows, or nothing where the event means nothing. */
export function nextPhase(phase: UpgradePhase, event: UpgradeEvent): UpgradePhase | undefined {
  const row: Partial<Record<UpgradeEvent, UpgradePhase>> = upgradeTransitions[phase];
  return row[event];
}
