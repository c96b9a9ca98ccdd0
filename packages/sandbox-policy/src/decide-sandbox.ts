/** Whether a run is enclosed, runs bare, or is refused: a function of the setting and of what the probe found. */

export const sandboxModes = ["required", "auto", "off"] as const;
export type SandboxMode = (typeof sandboxModes)[number];

/** One piece of an enclosure; `missing` names what isn't there, for people. */
export type Technique = { readonly works: true } | { readonly works: false; readonly missing: string };

export type SandboxProbe =
  | {
      readonly works: true;
      readonly program: string;
      /** the filter of system calls */
      readonly filter: Technique;
      /** a network of its own */
      readonly network: Technique;
    }
  | { readonly works: false; readonly missing: string };

export type SandboxDecision =
  | { readonly kind: "enclose"; readonly program: string }
  | { readonly kind: "bare"; readonly reason: string }
  | { readonly kind: "refuse"; readonly missing: string };

export function decideSandbox(mode: SandboxMode, probe: SandboxProbe): SandboxDecision {
  switch (mode) {
    case "off":
      return { kind: "bare", reason: "SAND_SANDBOX is off" };
    case "auto":
      return probe.works
        ? { kind: "enclose", program: probe.program }
        : { kind: "bare", reason: probe.missing };
    case "required": {
      const missing = findMissing(probe);
      return probe.works && missing === undefined
        ? { kind: "enclose", program: probe.program }
        : { kind: "refuse", missing: missing ?? "" };
    }
  }
}

/** A network of its own is looked at for each policy: most don't need one. */
function findMissing(probe: SandboxProbe): string | undefined {
  if (!probe.works) return probe.missing;
  return probe.filter.works ? undefined : probe.filter.missing;
}
