/**
 * Reads rows whose large parts lie in the blobs beside a store, from outside and from a copy. A payload that is missing
 * or isn't what its name says is an error: to whoever judges, that is a lost fact.
 */
import { createHash } from "node:crypto";
import { cpSync, existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";

export interface PayloadReader extends Disposable {
  /** the JSON value of a row's text */
  unpack(text: string): unknown;
}

const blobFile = "conversation-blobs.db";

/** `storePath` is the agent's store; the copy is made in `folder`. */
export function openPayloads(storePath: string, folder: string): PayloadReader {
  const source = join(dirname(storePath), blobFile);
  const copy = join(folder, blobFile);
  for (const suffix of ["", "-wal"]) {
    if (existsSync(`${source}${suffix}`)) cpSync(`${source}${suffix}`, `${copy}${suffix}`);
  }
  let database: DatabaseSync | undefined;

  function readBlob(id: string): string {
    database ??= new DatabaseSync(copy);
    const row = database.prepare("SELECT data FROM blobs WHERE id = ?").get(id);
    const data = row?.data;
    if (!(data instanceof Uint8Array))
      throw new Error(`${storePath} names the payload ${id}, which is missing`);
    if (createHash("sha256").update(data).digest("hex") !== id)
      throw new Error(`${storePath} names the payload ${id}, which is damaged`);
    return Buffer.from(data).toString("utf8");
  }

  return {
    unpack(text) {
      if (!text.startsWith("@")) return JSON.parse(text);
      const { rest, parts } = JSON.parse(text.slice(1)) as NamingRow;
      let whole: unknown = rest;
      for (const { at, form, id } of parts) {
        const content = readBlob(id);
        whole = put(whole, at, form === "text" ? content : JSON.parse(content));
      }
      return whole;
    },
    [Symbol.dispose]: () => database?.close(),
  };
}

interface NamingRow {
  readonly rest: unknown;
  readonly parts: readonly {
    readonly at: readonly (string | number)[];
    readonly form: "text" | "json";
    readonly id: string;
  }[];
}

function put(whole: unknown, [step, ...further]: readonly (string | number)[], value: unknown): unknown {
  if (step === undefined) return value;
  if (Array.isArray(whole)) return whole.map((one, at) => (at === step ? put(one, further, value) : one));
  const members = Object.entries(whole ?? {});
  return Object.fromEntries(
    members.map(([name, member]) => [name, name === step ? put(member, further, value) : member]),
  );
}
