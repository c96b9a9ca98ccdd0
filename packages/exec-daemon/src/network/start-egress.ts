/**
 * Starts a proxy for each set of network rules that an executor has, on a socket in a folder of its own: the folder is
 * what is mounted, so commands that outlive this daemon find the next one's socket.
 */
import { chmodSync, closeSync, lstatSync, mkdirSync, openSync, rmSync } from "node:fs";
import type { Server } from "node:http";
import { join } from "node:path";
import type { Logger } from "@sand/node-kit";
import { BoxError } from "@sand/protocol";
import { egressSocketName } from "@sand/sandbox-policy";
import type { BoxPolicy } from "../box-policy.ts";
import type { ExecutorPolicy } from "../enclosure/executor-policy.ts";
import { systemResolve } from "./dial.ts";
import { createEgressProxy } from "./egress-proxy.ts";

export interface Egress {
  close(): Promise<void>;
}

export async function startEgress(policy: BoxPolicy, log: Logger): Promise<Egress> {
  const byFolder = new Map<string, ExecutorPolicy>();
  for (const executor of Object.values(policy.executors)) {
    if (executor.egressFolder !== undefined && executor.refusal === undefined)
      byFolder.set(executor.egressFolder, executor);
  }
  const open: { close(): Promise<void> }[] = [];
  for (const [folder, { rules }] of byFolder) {
    const server = createEgressProxy({
      rules,
      resolve: systemResolve,
      onRefused: ({ host, port, rule }) =>
        log.info({ event: "egress.refused", host, port, rule }, "a command's connection was refused"),
    });
    open.push(await listen(server, folder, policy.user !== undefined));
  }
  return {
    async close() {
      for (const one of open) await one.close();
    },
  };
}

async function listen(
  server: Server,
  folder: string,
  isShared: boolean,
): Promise<{ close(): Promise<void> }> {
  makeOwnFolder(join(folder, ".."), isShared ? 0o711 : 0o700);
  makeOwnFolder(folder, isShared ? 0o711 : 0o700);
  rmSync(join(folder, egressSocketName), { force: true });
  // A socket's path may have about a hundred characters; through the open folder it is always short.
  const handle = openSync(folder, "r");
  const { promise, resolve, reject } = Promise.withResolvers<undefined>();
  server.once("error", reject);
  server.listen(`/proc/self/fd/${handle}/${egressSocketName}`, () => resolve(undefined));
  await promise;
  chmodSync(join(folder, egressSocketName), 0o666);
  return {
    async close() {
      const closed = new Promise((done) => server.close(done));
      server.closeAllConnections();
      await closed;
      closeSync(handle);
    },
  };
}

/** In a place where others write too, a folder of this name must be ours and no link. */
function makeOwnFolder(path: string, mode: number): void {
  mkdirSync(path, { recursive: true, mode });
  const stat = lstatSync(path);
  if (!stat.isDirectory() || stat.uid !== process.getuid?.())
    throw new BoxError("config/invalid", `${path} belongs to somebody else`, { hint: `remove ${path}` });
  chmodSync(path, mode);
}
