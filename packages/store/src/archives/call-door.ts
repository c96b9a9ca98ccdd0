/** The door for whoever asks the process that works without a host: types and one function, and nothing of SQLite. */
export { callOffline, type OfflineProcess, offlineRole } from "./call-offline.ts";
export type { ArchiveFacts, Difference, OfflineCall, OfflineReply, TurnReplay } from "./offline-call.ts";
