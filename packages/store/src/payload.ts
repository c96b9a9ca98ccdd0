/**
 * How a JSON value lies in a row: the one place that decides it.
 *
 * A value up to a limit is inline text. Of a larger one, the large parts lie in the content-addressed blobs beside the
 * store, and the row has the rest with their names (`blobs/`). JSON never begins with the mark that tells the two apart.
 * Rows that other programs read are always inline (`packPayload`): the contract gives them their shape.
 */
import { invariant, type JsonValue } from "@sand/protocol";
import type { PayloadHolder } from "./blobs/payload-refs.ts";
import {
  estimateChars,
  joinPayload,
  type PayloadForm,
  type PayloadPart,
  splitPayload,
} from "./blobs/split-payload.ts";

/** the largest value that a row takes, in UTF-16 units; tools and the gateway cut or refuse far below it */
const payloadMaxChars = 16 * 1_048_576;
/** a value up to this lies in its row, in UTF-16 units */
export const inlineMaxChars = 64 * 1_024;

const blobMark = "@";

export function packPayload(value: object | JsonValue): string {
  // A lone surrogate is written as an escape, so what comes back is exactly what went in.
  const text = JSON.stringify(value);
  invariant(typeof text === "string", "a stored value is JSON");
  invariant(text.length <= payloadMaxChars, "a stored value is within its size limit");
  return text;
}

/** For rows that are always inline. They are written by `packPayload` only, so the caller names the type that it wrote. */
export function unpackPayload<T>(text: string): T {
  return JSON.parse(text) as T;
}

/** a blob that is stored */
export interface StoredPart {
  readonly id: string;
  readonly bytes: number;
}

export interface PayloadCodec {
  /** the row's text; says which blobs the row names, when it does */
  pack(value: object | JsonValue, holder: PayloadHolder): string;
  /** rows are written by `pack` only, so the caller names the type that it wrote */
  unpack<T>(text: string): T;
}

export interface PayloadCodecDeps {
  /** The blobs of these parts, in their order; throws when one isn't stored. Absent where everything stays inline. */
  readonly placeParts?: (parts: readonly PayloadPart[], holder: PayloadHolder) => readonly StoredPart[];
  /** the blob's text, verified */
  readonly readBlob: (id: string) => string;
}

/** for a file that has no blobs beside it */
export const inlineCodec: PayloadCodec = { pack: packPayload, unpack: unpackPayload };

interface NamedPart extends StoredPart {
  readonly at: readonly (string | number)[];
  readonly form: PayloadForm;
}

interface NamingRow {
  readonly version: 1;
  readonly rest: JsonValue;
  readonly parts: readonly NamedPart[];
}

export function createPayloadCodec({ placeParts, readBlob }: PayloadCodecDeps): PayloadCodec {
  return {
    pack(value, holder) {
      // It is JSON: whoever writes a row has it from JSON, or builds it of the same.
      const whole = value as JsonValue;
      // A large one isn't turned into text first: that alone would take as long as a small commit.
      if (placeParts === undefined || estimateChars(whole) <= inlineMaxChars) return packPayload(value);
      invariant(estimateChars(whole) <= payloadMaxChars, "a stored value is within its size limit");
      const { rest, parts } = splitPayload(whole, inlineMaxChars);
      const stored = placeParts(parts, holder);
      const named = parts.map(({ at, form }, index) => ({ at, form, ...partAt(stored, index) }));
      const row: NamingRow = { version: 1, rest, parts: named };
      return blobMark + JSON.stringify(row);
    },
    unpack<T>(text: string): T {
      if (!text.startsWith(blobMark)) return JSON.parse(text) as T;
      const { rest, parts } = readNamingRow(text);
      const read = parts.map(({ at, form, id }) => {
        const content = readBlob(id);
        return { at, value: form === "text" ? content : (JSON.parse(content) as JsonValue) };
      });
      return joinPayload(rest, read) as T;
    },
  };
}

/** The blobs that a row's text names, none for an inline one. */
export function blobsNamedBy(text: string): readonly StoredPart[] {
  return text.startsWith(blobMark) ? readNamingRow(text).parts : [];
}

function readNamingRow(text: string): NamingRow {
  return JSON.parse(text.slice(blobMark.length)) as NamingRow;
}

function partAt(stored: readonly StoredPart[], index: number): StoredPart {
  const part = stored[index];
  invariant(part !== undefined, "each part has its blob");
  return part;
}
