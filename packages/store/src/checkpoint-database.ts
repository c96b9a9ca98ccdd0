/** Moves a database's log into its file while its writer has it open, as far as nobody is in the way. */
import { emptyLog, openBeside } from "./sqlite.ts";

export function checkpointDatabase(path: string): void {
  const connection = openBeside(path);
  try {
    emptyLog(connection);
  } finally {
    connection.close();
  }
}
