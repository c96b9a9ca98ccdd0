/** The door of archives and journals: for a process of its own that reads stores, never for the host itself. */
export { prepareSqlite } from "../load-sqlite.ts";
export { type AgentReading, openAgentReading } from "./agent-reading.ts";
export { importArchive } from "./import-archive.ts";
export { writeArchive } from "./write-archive.ts";
