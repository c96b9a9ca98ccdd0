/**
 * What the stores say of resume markers: each that an upgrade left, and what became of it. Read from outside, from the
 * events and the journals, which are written in the transactions that leave a marker and use it up.
 */
import { objectOf } from "../sweep/journal-view.ts";
import { readEvents } from "../sweep/read-stores.ts";

export interface MarkerFacts {
  /** `<turn>/<upgrade>` of each marker that was left */
  readonly left: readonly string[];
  /** the same of each that a resume used up */
  readonly used: readonly string[];
  /** markers whose turn was settled before anybody resumed it */
  readonly settled: readonly string[];
  /** turns that were resumed as after a crash */
  readonly crashResumes: readonly string[];
}

export function readMarkers(dataRoot: string): MarkerFacts {
  const facts = {
    left: [] as string[],
    used: [] as string[],
    settled: [] as string[],
    crashResumes: [] as string[],
  };
  const waiting = new Map<string, string>();
  for (const event of readEvents(dataRoot)) {
    if (event.channel !== "turn") continue;
    const { type, turnId, marker } = objectOf(JSON.parse(event.payload));
    const turn = String(turnId);
    const name = `${turn}/${String(marker)}`;
    if (type === "turnQuiesced") {
      facts.left.push(name);
      waiting.set(turn, name);
    } else if (type === "turnResumed") {
      if (marker === undefined) facts.crashResumes.push(turn);
      else facts.used.push(name);
      if (waiting.get(turn) === name) waiting.delete(turn);
    } else if (type === "turnSettled") {
      const unused = waiting.get(turn);
      if (unused !== undefined) facts.settled.push(unused);
      waiting.delete(turn);
    }
  }
  return facts;
}

/** Sentences about markers that weren't used up exactly once. `withKills`: hosts were killed, so crash resumes are right. */
export function judgeMarkers(facts: MarkerFacts, withKills: boolean): readonly string[] {
  const ends = [...facts.used, ...facts.settled];
  const known = new Set(facts.left);
  return [
    ...facts.left.flatMap((name) => {
      const times = ends.filter((end) => end === name).length;
      return times === 1 ? [] : [`the marker ${name} was used up ${times} times`];
    }),
    ...ends.filter((name) => !known.has(name)).map((name) => `the marker ${name} was left by nobody`),
    ...(withKills ? [] : facts.crashResumes.map((turn) => `turn ${turn} was resumed as after a crash`)),
  ];
}
