/** One thing that the doctor looked at. `fail`: a host won't work so; `warn`: it works, but not as one would want. */
export type Severity = "ok" | "warn" | "fail";

export interface Finding {
  readonly subject: string;
  readonly severity: Severity;
  readonly text: string;
  readonly hint?: string;
}
