/** A shipped daemon in a folder of its own, with clients of its services. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { startDaemon } from "./host-process.mjs";

const fromDaemon = createRequire(new URL("../../packages/exec-daemon/package.json", import.meta.url));
const { createClient } = await import(fromDaemon.resolve("@connectrpc/connect"));
const { createConnectTransport } = await import(fromDaemon.resolve("@connectrpc/connect-node"));
const { Control, Processes } = await import("../../packages/protocol/src/exec.ts");
const { Shells } = await import("../../packages/protocol/src/exec-shells.ts");

export const daemonToken = "bench-daemon-token";

export async function openDaemon(folder, env = {}) {
  const daemon = await startDaemon({ folder, env });
  const { rpcPort } = JSON.parse(readFileSync(join(folder, "data/exec-daemon.json"), "utf8"));
  const url = `http://127.0.0.1:${rpcPort}`;
  const transport = createConnectTransport({
    baseUrl: url,
    httpVersion: "1.1",
    interceptors: [
      (next) => (request) => {
        request.header.set("authorization", `Bearer ${daemonToken}`);
        return next(request);
      },
    ],
  });
  return {
    ...{ ...daemon, url, rpcPort, folder },
    processes: createClient(Processes, transport),
    control: createClient(Control, transport),
    shells: createClient(Shells, transport),
  };
}
