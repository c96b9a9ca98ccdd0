/**
 * Named places where a test build can die by SIGKILL, to prove what a start afterwards makes of it.
 *
 * The constant is set by the bundler. Where it is false the calls fold away, so a shipped bundle has none and no
 * setting can wake one. Sources that Node runs directly have no constant, and then nothing is armed either.
 */
declare const SAND_FAILPOINTS: boolean;

export interface ArmedFailpoint {
  readonly name: string;
  /** dies at this hit, counted from 1 */
  readonly hit: number;
}

let armed: ArmedFailpoint | undefined;
let hits = 0;

/** `<name>:<n>`, or `<name>` for the first hit. Anything else is refused: a test that arms nothing proves nothing. */
export function parseFailpoint(spec: string): ArmedFailpoint {
  const match = /^([a-z0-9.-]+)(?::([1-9]\d{0,8}))?$/u.exec(spec);
  if (match?.[1] === undefined) throw new TypeError("a failpoint is written as <name>:<n>");
  return { name: match[1], hit: Number(match[2] ?? "1") };
}

/** Arms one failpoint from the value of `SAND_FAILPOINT`. Does nothing outside test builds. */
export function armFailpoints(spec: string | undefined): void {
  if (typeof SAND_FAILPOINTS !== "undefined" && SAND_FAILPOINTS) {
    armed = spec === undefined || spec === "" ? undefined : parseFailpoint(spec);
    hits = 0;
  }
}

/** Marks a place to die at. */
export function failpoint(name: string): void {
  if (typeof SAND_FAILPOINTS !== "undefined" && SAND_FAILPOINTS) {
    if (armed?.name !== name) return;
    hits += 1;
    if (hits === armed.hit) dieHere();
  }
}

/**
 * Whether a test build was told to leave something out, so that a proof can show that it would notice. The setting is
 * the same, `SAND_FAILPOINT`; what is shipped always does everything.
 */
export function leavesOut(name: string): boolean {
  if (typeof SAND_FAILPOINTS !== "undefined" && SAND_FAILPOINTS) return armed?.name === name;
  return false;
}

/** SIGKILL reaches us before the next line of any thread that matters; the loop covers the moment in between. */
function dieHere(): never {
  process.kill(process.pid, "SIGKILL");
  for (;;);
}
