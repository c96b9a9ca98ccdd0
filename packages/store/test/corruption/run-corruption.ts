/** Many damaged data roots, each from its own seed, so that any of them can be had again. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SalvageRules } from "../../src/recovery/salvage-rows.ts";
import { type Kind, kinds } from "./inflict.ts";
import { type RunResult, runDamaged } from "./run-damaged.ts";
import { makeSoundRoot, type RootSize } from "./sound-root.ts";

export interface CorruptionOptions {
  readonly seed: number;
  readonly runs: number;
  /** the number of the first one */
  readonly from?: number;
  readonly size?: RootSize;
  /** all of them when absent */
  readonly only?: readonly Kind[];
  readonly rules?: SalvageRules;
  readonly onRun?: (run: number, result: RunResult) => void;
}

export interface CorruptionSums {
  readonly runs: number;
  readonly intact: number;
  readonly kept: number;
  readonly repaired: number;
  readonly refused: number;
  readonly behind: number;
  readonly findings: readonly string[];
}

const defaultSize: RootSize = { turns: 220, noise: 6_600 };

export async function runCorruption(options: CorruptionOptions): Promise<CorruptionSums> {
  const { seed, runs, from = 0, only = allKinds, rules, onRun } = options;
  const folder = mkdtempSync(join(tmpdir(), "sand-corruption-"));
  const results: RunResult[] = [];
  try {
    const sound = remember(await makeSoundRoot(folder, options.size ?? defaultSize));
    for (let run = from; run < from + runs; run += 1) {
      const kind = only[run % only.length] ?? "flipped bytes";
      const random = randomFrom(seed * 1_000_003 + run);
      const found = await runDamaged({
        sound,
        kind,
        folder,
        random,
        ...(rules === undefined ? {} : { rules }),
      });
      const result = { ...found, findings: found.findings.map((finding) => `run ${run}, ${finding}`) };
      results.push(result);
      onRun?.(run, result);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return addUp(results);
}

const allKinds = Object.keys(kinds) as readonly Kind[];

export function addUp(results: readonly Omit<RunResult, "kind">[]): CorruptionSums {
  const sum = (pick: (result: Omit<RunResult, "kind">) => number): number =>
    results.reduce((total, result) => total + pick(result), 0);
  return {
    runs: results.length,
    intact: sum(({ intact }) => intact),
    kept: sum(({ kept }) => kept),
    repaired: sum(({ repaired }) => repaired),
    refused: sum(({ refused }) => refused),
    behind: sum(({ behind }) => behind),
    findings: results.flatMap(({ findings }) => findings),
  };
}

/** What a sound root says is asked for in each run, and stays the same. */
function remember<Sound extends Awaited<ReturnType<typeof makeSoundRoot>>>(sound: Sound): Sound {
  const known = new Map<string, unknown>();
  const once = <T>(name: string, ask: () => T): T => {
    if (!known.has(name)) known.set(name, ask());
    return known.get(name) as T;
  };
  return {
    ...sound,
    told: (root, agent) => once(`told ${root} ${agent}`, () => sound.told(root, agent)),
    pagesOf: (root, agent) => once(`pages ${root} ${agent}`, () => sound.pagesOf(root, agent)),
  };
}

/** mulberry32: small, and the same everywhere */
function randomFrom(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296) * below);
  };
}
