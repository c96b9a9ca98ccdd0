/**
 * The way from outside to the box's own daemon: the gateway's bearer is exchanged for the daemon's, and bytes are
 * passed on. The daemon keeps listening inside only, and its token never leaves.
 *
 * 1. Nothing is relayed by a gateway without a token: commands in the box can reach its port.
 * 2. The daemon is started when nobody answers, by the one attempt that turns share too.
 * 3. Nothing is kept in between: who reads slowly slows the sender down. Who has no room is refused.
 * 4. `close` ends everything that is relayed, so that the gateway's own end waits for none of it.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { Logger } from "@sand/node-kit";
import { BoxError } from "@sand/protocol";
import type { ReachBox } from "../../box/box-doors.ts";
import { relayCall } from "./relay-call.ts";
import { relayLimits } from "./relay-limits.ts";
import { findRelayTarget, type RelayTarget } from "./relay-target.ts";
import { refuseSocket, relayTerminal } from "./relay-terminal.ts";

export interface BoxRelayDeps {
  /** absent: there is no box behind this gateway */
  readonly reachBox: ReachBox | undefined;
  readonly hasToken: boolean;
  readonly logger: Logger;
  /** why a request that asks for another protocol is refused, or `undefined` */
  admit(request: IncomingMessage): BoxError | undefined;
}

export interface BoxRelay {
  /** Resolves when nothing can be refused any more, with what carries the call on. Throws `BoxError` before. */
  prepare(request: IncomingMessage): Promise<(response: ServerResponse, requestId: string) => void>;
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void>;
  close(): void;
}

type Kind = "calls" | "terminals";

export function createBoxRelay({ reachBox, hasToken, logger, admit }: BoxRelayDeps): BoxRelay {
  const under = { calls: 0, terminals: 0 };
  const closing = new AbortController();
  const { signal } = closing;

  function takeRoom(kind: Kind): () => void {
    const max = kind === "calls" ? relayLimits.callsMax : relayLimits.terminalsMax;
    if (under[kind] >= max)
      throw new BoxError("gateway/too-many-streams", `${max} ${kind} are relayed to the box already`);
    under[kind] += 1;
    let isHeld = true;
    return () => {
      if (isHeld) under[kind] -= 1;
      isHeld = false;
    };
  }

  function find(request: IncomingMessage): RelayTarget {
    if (!hasToken) {
      throw new BoxError("gateway/unauthorized", "the box is reached only through a gateway with a token", {
        hint: "set SAND_GATEWAY_TOKEN for the host, or start it with sand up",
      });
    }
    const target = findRelayTarget(request.method ?? "", request.url ?? "");
    if (target === undefined || reachBox === undefined)
      throw new BoxError("gateway/not-found", "the gateway leads to nothing of that name in the box");
    return target;
  }

  async function reach(target: RelayTarget) {
    const found = await (reachBox ?? absentBox)(signal);
    if (found.state === "absent") throw new BoxError(found.code, found.reason);
    const port = target.door === "rpc" ? found.doors.rpcPort : found.doors.ptyPort;
    if (port === undefined)
      throw new BoxError("box/unavailable", "the exec-daemon doesn't say where its terminals are");
    return { host: found.doors.host, port, token: found.doors.token, path: target.path };
  }

  return {
    async prepare(request) {
      const target = find(request);
      const release = takeRoom("calls");
      try {
        const to = await reach(target);
        return (response, requestId) => relayCall({ request, response, requestId, to, signal }, release);
      } catch (error) {
        release();
        throw error;
      }
    },
    async upgrade(request, socket, head) {
      socket.on("error", () => socket.destroy());
      let release = (): void => undefined;
      try {
        const refusal = admit(request);
        if (refusal !== undefined) throw refusal;
        const target = find(request);
        release = takeRoom("terminals");
        socket.once("close", release);
        relayTerminal({ request, socket, head, to: await reach(target), signal });
      } catch (error) {
        release();
        if (!(error instanceof BoxError))
          logger.error({ event: "relay.failed", err: error }, "a terminal could not be relayed");
        refuseSocket(socket, error);
      }
    },
    close: () => closing.abort(),
  };
}

const absentBox: ReachBox = async () => ({
  state: "absent",
  code: "box/unavailable",
  reason: "there is no box behind this gateway",
});
