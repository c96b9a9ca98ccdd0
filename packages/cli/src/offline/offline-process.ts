/** The process that reads stores without a host: the host's program in another role. */
import { callOffline, type OfflineCall, type OfflineProcess } from "@sand/store/offline";
import type { CommandContext } from "../command.ts";
import { locateHost } from "../local-host/locate-programs.ts";

export async function askOffline(
  context: CommandContext,
  call: OfflineCall,
  onTurn?: OfflineProcess["onTurn"],
): ReturnType<typeof callOffline> {
  const stop = new AbortController();
  process.once("SIGINT", () => stop.abort());
  process.once("SIGTERM", () => stop.abort());
  return await callOffline(
    {
      program: locateHost(context.programPath).path,
      env: context.config.childEnvironment,
      cwd: context.currentFolder,
      signal: stop.signal,
      ...(onTurn === undefined ? {} : { onTurn }),
    },
    call,
  );
}
