/** The door of the daemon for programs that start it in their own process, which only tests do. */
export { daemonSettings, parseDaemonConfig } from "./config.ts";
export { startDaemon } from "./start-daemon.ts";
