/** Whether a run is enclosed, runs bare, or is refused: a function of the setting and of what the probe found. */

export const sandboxModes = ["required", "auto", "off"] as const;
export type SandboxMode = (typeof sandboxModes)[number];

export type SandboxProbe =
  | { readonly works: true; readonly program: string }
  /** `missing` names the piece that isn't there, for people */
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
    case "required":
      return probe.works
        ? { kind: "enclose", program: probe.program }
        : { kind: "refuse", missing: probe.missing };
  }
}
