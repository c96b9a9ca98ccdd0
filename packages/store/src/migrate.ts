/**
 * Brings a file to the schema of this program: all steps that it lacks, in one transaction, so that it costs one sync.
 *
 * A file of a newer program is refused and left as it is: writing to it by old rules could lose what we don't know of.
 * A file that has tables and no version wasn't written by us, or lost its first page; nothing is created in it.
 */
import { BoxError } from "@sand/protocol";
import type { Connection } from "./sqlite.ts";

/** the schema's steps: the one at index 0 makes version 1 of an empty file */
export type Migrations = readonly string[];

/** `finish` runs within the transaction of the steps, and not when there are none. */
export function migrate(connection: Connection, migrations: Migrations, finish?: () => void): void {
  const found = readVersion(connection);
  if (found > migrations.length) {
    throw new BoxError(
      "store/newer-schema",
      `the store has schema ${found}, this program knows ${migrations.length}`,
      {
        hint: "start the newer version of the program, or restore a copy from before the upgrade",
      },
    );
  }
  if (found === 0 && countTables(connection) > 0) {
    throw new BoxError("store/damaged", "the file has tables but no schema version", {
      hint: "restore the file from a copy, or move it away",
    });
  }
  if (found === migrations.length) return;
  connection
    .transaction(() => {
      for (const step of migrations.slice(found)) connection.exec(step);
      connection.pragma(`user_version = ${migrations.length}`);
      finish?.();
    })
    .immediate();
}

function readVersion(connection: Connection): number {
  return Number(connection.pragma("user_version", { simple: true }));
}

function countTables(connection: Connection): number {
  return Number(connection.prepare("SELECT count(*) FROM sqlite_schema").pluck().get());
}
