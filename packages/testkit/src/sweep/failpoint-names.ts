/**
 * Every failpoint of the product, by the process that dies at it. A test compares this table with the sources, so a
 * new failpoint that no sweep reaches can't slip in.
 */
export const hostFailpoints = [
  "accept.before",
  "accept.claimed",
  "deliver.after",
  "intent.model",
  "effect.model.begin",
  "effect.model.end",
  "result.model",
  "intent.tool",
  "effect.tool.before",
  "effect.tool.after",
  "result.tool",
  "settle.before",
  "settle.after",
  "commit.before",
  "commit.after",
  "index.commit.before",
  "index.commit.after",
  "blob.put.before",
  "blob.put.after",
  "blob.gc.before",
  "blob.gc.after",
  "publish.before",
  "publish.after",
  "index.publish.before",
  "index.publish.after",
  "reply.before",
  "reply.after",
  "boot.resume",
] as const;

export const daemonFailpoints = [
  "exec.intended",
  "exec.started",
  "exec.given",
  "file.intended",
  "file.written",
] as const;

/** The keeper is the process that waits for a command; it's started by the daemon and outlives it. */
export const keeperFailpoints = ["keeper.claimed", "keeper.spawned", "keeper.exited"] as const;

/** The host dies at these in its thread of projections; a test of its own kills it at each. */
export const projectionFailpoints = ["projection.search.before", "projection.journal.written"] as const;

/** The process that takes snapshots and restores them; a test of its own kills it at each. */
export const boxStoreFailpoints = [
  "snapshot.pieces",
  "snapshot.manifest",
  "snapshot.listed",
  "restore.written",
] as const;

/** The process that carries agents in archives; a test of its own kills it here. */
export const archiveFailpoints = ["import.staged"] as const;
