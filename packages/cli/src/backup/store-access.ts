/** Which box store a command is about, and the process that works on it: the host's program in another role. */
import type { BoxStoreProcess, StoreAccess } from "@sand/store/box-store";
import type { CommandContext } from "../command.ts";
import { CommandFailure } from "../command-failure.ts";
import { locateHost } from "../local-host/locate-programs.ts";

/** Credentials are taken from the environment alone: an argument list can be read by anybody on the machine. */
export function storeAccess(context: CommandContext, given: string | undefined, option: string): StoreAccess {
  const { boxStore, boxStoreEndpoint, boxStoreRegion, storeKeys } = context.config;
  const address = given ?? boxStore;
  if (address === undefined) {
    throw new CommandFailure("usage", "no box store is named", {
      hint: `give ${option} <folder> or ${option} s3://bucket/prefix, or set SAND_BOX_STORE`,
    });
  }
  return {
    address,
    s3: {
      endpoint: boxStoreEndpoint ?? null,
      region: boxStoreRegion ?? null,
      accessKeyId: storeKeys.SAND_BOX_STORE_ACCESS_KEY_ID ?? null,
      secretAccessKey: storeKeys.SAND_BOX_STORE_SECRET_ACCESS_KEY ?? null,
      sessionToken: storeKeys.SAND_BOX_STORE_SESSION_TOKEN ?? null,
    },
  };
}

export function storeProcess(context: CommandContext): BoxStoreProcess {
  const { terminal, config, programPath, currentFolder } = context;
  const stop = new AbortController();
  process.once("SIGINT", () => stop.abort());
  process.once("SIGTERM", () => stop.abort());
  return {
    program: locateHost(programPath).path,
    env: config.childEnvironment,
    cwd: currentFolder,
    signal: stop.signal,
    onProgress: (done, total) => terminal.note(`  ${done} of ${total} files`),
  };
}
