/**
 * Reads an agent's store as it was at one commit, whether its host runs or not: one read transaction on a connection
 * that can't write. Its reads are synchronous and may be many, so it is for a process of its own.
 *
 * A store of an older version is copied first and the copy is brought up to date, so what is read has one shape. Only
 * the host changes a store.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { AgentReads } from "@sand/agent-core";
import { BoxError, brandId, type ClientNonce, type EntryId } from "@sand/protocol";
import { createAgentReads } from "../agent-reads.ts";
import { agentMigrations } from "../agent-schema.ts";
import { createBlobReader } from "../blobs/blob-reader.ts";
import { blobFileName } from "../blobs/blob-schema.ts";
import { createEventLog } from "../event-log.ts";
import { migrate } from "../migrate.ts";
import { storeFileName } from "../open-agent-store.ts";
import { createPayloadCodec } from "../payload.ts";
import { toStoreError } from "../reopening.ts";
import { type TurnSqlRow, turnColumns, turnFromRow } from "../rows.ts";
import { type Connection, openDatabase, openForReading } from "../sqlite.ts";
import { importedKey, parseRanBy, type RanBy } from "./archive-content.ts";

export interface AgentReading extends Disposable {
  readonly read: AgentReads;
  /** all turns from this generation on, oldest first */
  turns(fromGeneration: number): Iterable<ReturnType<typeof turnFromRow>>;
  /** in the order of acceptance */
  nonces(): Iterable<ClientNonce>;
  /** in their order */
  entryIds(): Iterable<EntryId>;
  valueKeys(): readonly string[];
  /** the agents that ran its turns before it was imported, oldest first */
  ranBy(): readonly RanBy[];
}

/** turns that are read at a time, from the first page on */
const firstPage = 8;
const pageMax = 512;

/** `folder` is the agent's. */
export function openAgentReading(folder: string): AgentReading {
  const opened = openCurrent(join(folder, storeFileName));
  const { connection } = opened;
  const blobs = createBlobReader(join(folder, blobFileName));
  const close = (): void => {
    blobs.close();
    opened.close();
  };
  try {
    const codec = createPayloadCodec({ readBlob: (id) => blobs.read(id) });
    const read = createAgentReads(connection, createEventLog(connection, codec), codec);
    const ranBy = (): readonly RanBy[] => parseRanBy(read.getValue(importedKey));
    return { read, ...lists(connection), ranBy, [Symbol.dispose]: close };
  } catch (error) {
    close();
    throw toStoreError(error);
  }
}

interface OpenedForReading {
  readonly connection: Connection;
  close(): void;
}

function openCurrent(path: string): OpenedForReading {
  const connection = beginReading(path);
  try {
    const version = Number(connection.pragma("user_version", { simple: true }));
    if (version === agentMigrations.length) return { connection, close: () => connection.close() };
    if (version > agentMigrations.length || version === 0) refuseVersion(version);
    connection.exec("COMMIT");
    return copyOf(connection);
  } catch (error) {
    connection.close();
    throw toStoreError(error);
  }
}

function beginReading(path: string): Connection {
  let connection: Connection | undefined;
  try {
    connection = openForReading(path);
    connection.pragma("cell_size_check = ON");
    connection.pragma("trusted_schema = OFF");
    connection.exec("BEGIN");
    connection.prepare("SELECT count(*) FROM sqlite_schema").get();
    return connection;
  } catch (error) {
    connection?.close();
    throw toStoreError(error);
  }
}

function refuseVersion(version: number): never {
  if (version === 0) throw new BoxError("store/damaged", "the file has no schema version");
  throw new BoxError(
    "store/newer-schema",
    `the store has schema ${version}, this program knows ${agentMigrations.length}`,
    { hint: "use the newer version of the program" },
  );
}

function copyOf(source: Connection): OpenedForReading {
  const folder = mkdtempSync(join(tmpdir(), "sand-reading-"));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  try {
    const path = join(folder, storeFileName);
    source.prepare("VACUUM INTO ?").run(path);
    source.close();
    const { connection } = openDatabase({ path, create: false });
    migrate(connection, agentMigrations);
    return {
      connection,
      close() {
        connection.close();
        remove();
      },
    };
  } catch (error) {
    remove();
    throw error;
  }
}

function lists(connection: Connection): Pick<AgentReading, "turns" | "nonces" | "entryIds" | "valueKeys"> {
  const turns = connection.prepare<unknown[], TurnSqlRow>(
    `SELECT ${turnColumns} FROM turns WHERE generation >= ? ORDER BY generation LIMIT ?`,
  );
  const nonces = connection
    .prepare<unknown[], string>("SELECT nonce FROM prompts WHERE turn_id IS NOT NULL ORDER BY ordinal")
    .pluck();
  const entryIds = connection
    .prepare<unknown[], string>("SELECT id FROM transcript_entries ORDER BY seq")
    .pluck();
  const keys = connection.prepare<unknown[], string>("SELECT key FROM kv ORDER BY key").pluck();
  return {
    *turns(fromGeneration) {
      // In pages: whoever reads them may begin anew in between, and most want few.
      let from = fromGeneration;
      for (let size = firstPage; ; size = Math.min(size * 2, pageMax)) {
        const rows = turns.all(from, size);
        for (const row of rows) yield turnFromRow(row);
        const last = rows.at(-1);
        if (last === undefined || rows.length < size) return;
        from = last.generation + 1;
      }
    },
    *nonces() {
      for (const nonce of nonces.iterate()) yield brandId<ClientNonce>(nonce);
    },
    *entryIds() {
      for (const id of entryIds.iterate()) yield brandId<EntryId>(id);
    },
    valueKeys: () => keys.all(),
  };
}
