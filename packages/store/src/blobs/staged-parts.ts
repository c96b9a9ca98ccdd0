/**
 * Brings the large parts of a change into the blobs before the change commits.
 *
 * A change is synchronous, and what it writes is known only when it runs. So a change that comes to a large part is
 * undone, its parts are stored by the blob thread while the event loop goes on, and it runs again with their names at
 * hand. A change must therefore be able to run twice, as one that rolled back. Small changes take no notice of this.
 *
 * 1. The blob is durable before the row that names it commits.
 * 2. From the moment a blob is stored until the outcome of its change is known, it's pinned: the collector leaves it.
 */
import { invariant } from "@sand/protocol";
import type { StoredPart } from "../payload.ts";
import type { PayloadPart } from "./split-payload.ts";

/** Undoes a change and says what it lacks. Never leaves the store. */
export class MissingParts extends Error {
  override readonly name = "MissingParts";
  readonly parts: readonly PayloadPart[];
  constructor(parts: readonly PayloadPart[]) {
    super("a change has large parts that aren't stored yet");
    this.parts = parts;
  }
}

/** tries of one change; each finds the large parts of at least one more row */
const roundsMax = 64;

export interface StagedParts {
  /** the blobs of the parts, for the change that runs now; throws `MissingParts` */
  place(parts: readonly PayloadPart[]): readonly StoredPart[];
  /** stores what was missing and has the change run again: `attempt` runs it inside of what it's given */
  retry<T>(missing: MissingParts, attempt: (within: Within) => Promise<T>): Promise<T>;
  isPinned(id: string): boolean;
}

type Within = <R>(run: () => R) => R;

interface Stage {
  find(part: PayloadPart): StoredPart | undefined;
  add(parts: readonly PayloadPart[]): Promise<void>;
  release(): void;
}

export interface StagedPartsDeps {
  /** stores them durably and names them; the bytes are handed over */
  put(blobs: readonly Uint8Array[]): Promise<readonly string[]>;
}

export function createStagedParts(deps: StagedPartsDeps): StagedParts {
  const pins = new Map<string, number>();
  let current: Stage | undefined;

  function pin(id: string, by: 1 | -1): void {
    const count = (pins.get(id) ?? 0) + by;
    if (count > 0) pins.set(id, count);
    else pins.delete(id);
  }

  function createStage(): Stage {
    const stored = new Map<string, StoredPart>();
    const texts = { text: new Map<string, StoredPart>(), json: new Map<string, StoredPart>() } as const;
    return {
      find: (part) => texts[part.form].get(part.text),
      async add(parts) {
        const encoder = new TextEncoder();
        const blobs = parts.map(({ text }) => encoder.encode(text));
        const sizes = blobs.map((blob) => blob.byteLength);
        const ids = await deps.put(blobs);
        for (const [index, { form, text }] of parts.entries()) {
          const id = ids[index];
          invariant(id !== undefined, "each blob gets its name");
          if (!stored.has(id)) pin(id, 1);
          const part = { id, bytes: sizes[index] ?? 0 };
          stored.set(id, part);
          texts[form].set(text, part);
        }
      },
      release() {
        for (const id of stored.keys()) pin(id, -1);
      },
    };
  }

  function runIn(stage: Stage): Within {
    return (run) => {
      current = stage;
      try {
        return run();
      } finally {
        current = undefined;
      }
    };
  }

  return {
    place(parts) {
      const found = parts.map((part) => current?.find(part));
      const missing = parts.filter((_, index) => found[index] === undefined);
      if (missing.length > 0) throw new MissingParts(missing);
      return found.filter((part) => part !== undefined);
    },
    async retry(missing, attempt) {
      const stage = createStage();
      let lacking = missing;
      try {
        for (let round = 0; round < roundsMax; round += 1) {
          await stage.add(lacking.parts);
          try {
            return await attempt(runIn(stage));
          } catch (error) {
            if (!(error instanceof MissingParts)) throw error;
            lacking = error;
          }
        }
      } finally {
        stage.release();
      }
      invariant(false, "a change writes the same large parts each time it runs");
    },
    isPinned: (id) => pins.has(id),
  };
}
