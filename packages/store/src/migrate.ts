/**
 * Brings a file to the schema of this program, one version after another, each in a transaction of its own.
 *
 * A file of a newer program is refused and left as it is: writing to it by old rules could lose what we don't know of.
 * A file that has tables and no version wasn't written by us, or lost its first page; nothing is created in it.
 */
import { BoxError } from "@sand/protocol";
import type { Connection } from "./sqlite.ts";

/** the schema's steps: the one at index 0 makes version 1 of an empty file */
export type Migrations = readonly string[];

export function migrate(connection: Connection, migrations: Migrations): void {
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
  for (const [index, step] of migrations.entries()) {
    if (index >= found) apply(connection, index + 1, step);
  }
}

function apply(connection: Connection, version: number, step: string): void {
  connection
    .transaction(() => {
      connection.exec(step);
      connection.pragma(`user_version = ${version}`);
    })
    .immediate();
}

function readVersion(connection: Connection): number {
  return Number(connection.pragma("user_version", { simple: true }));
}

function countTables(connection: Connection): number {
  return Number(connection.prepare("SELECT count(*) FROM sqlite_schema").pluck().get());
}
