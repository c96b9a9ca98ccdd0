/**
 * The client of the exec-daemon behind the port of the box. It holds no state of executions: ids and cursors are the
 * caller's, so a host that was restarted asks with the same ones and gets the same answers.
 */
import { randomUUID } from "node:crypto";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { type Client, createClient, type Interceptor } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { BoxError, type Clock } from "@sand/protocol";
import {
  Control,
  Files,
  Processes,
  type StartRequestSchema,
  StdinState,
  SignalScope as WireScope,
} from "@sand/protocol/exec";
import { attachExecution } from "./attach-execution.ts";
import { askBox, callBox } from "./box-call.ts";
import type { BoxPort, SignalScope, StartSpec, StdinOutcome } from "./box-port.ts";
import { createBoxFiles } from "./create-box-files.ts";
import { createDirectUnary } from "./direct-unary.ts";
import { toCursor, toEvent, toExecutionView } from "./from-wire.ts";

export interface BoxClientDeps {
  /** asked before each call, because a restarted daemon may have another port */
  readonly baseUrl: () => string;
  readonly token: string | (() => string);
  readonly clock: Clock;
  /** Brings the daemon back while an attach waits for it; never throws. */
  readonly recover?: (signal: AbortSignal) => Promise<void>;
}

/** a ping that takes longer is no sign of life */
const pingTimeoutMs = 5000;
const callTimeoutMs = 15_000;
/** a command's process has to come up within the daemon's own limits */
const startTimeoutMs = 60_000;
/** what a long poll may take beyond its wait */
const pollGraceMs = 15_000;
const answerMaxBytes = 32 * 1024 * 1024;

export function createBoxClient(deps: BoxClientDeps): BoxPort {
  const clients = createClients(deps);
  const processes = (): Client<typeof Processes> => clients().processes;
  const control = (): Client<typeof Control> => clients().control;
  const recover = deps.recover ?? (async () => undefined);

  return {
    files: createBoxFiles(() => clients().files),
    ping: (signal) =>
      callBox(pingTimeoutMs, signal, async (options) => {
        const nonce = randomUUID();
        const {
          nonce: echoed,
          pid,
          bootId,
          eventLoopDelayP99Ms,
          openFds,
          running,
          workspaceRoot,
        } = await control().ping({ nonce }, options);
        if (echoed !== nonce)
          throw new BoxError("box/unavailable", "what answers there is not our exec-daemon");
        return { pid, bootId, eventLoopDelayP99Ms, openFds, running, workspaceRoot };
      }),
    capabilities: (signal) =>
      callBox(callTimeoutMs, signal, async (options) => {
        const answer = await control().capabilities({}, options);
        return answer.capabilities.map(({ name, enforced, reason }) => ({ name, enforced, reason }));
      }),
    start: (spec, { signal, settleMs = 0 } = {}) =>
      askBox(startTimeoutMs + settleMs, signal, async (options) => {
        const answer = await processes().start({ ...toStartRequest(spec), settleMs }, options);
        return {
          outcome: "started",
          existing: answer.existing,
          execution: toExecutionView(answer.execution),
          events: answer.events.map(toEvent).filter((event) => event !== undefined),
        } as const;
      }),
    attach: (id, after, signal) =>
      attachExecution({ processes, clock: deps.clock, recover }, id, after, signal),
    read: (processId, after, page, signal) =>
      askBox(page.waitMs + pollGraceMs, signal, async (options) => {
        const cursor = { seq: BigInt(after.seq), stdout: BigInt(after.stdout), stderr: BigInt(after.stderr) };
        const request = { processId, after: cursor, waitMs: page.waitMs, maxBytes: page.bytesMax };
        const answer = await processes().read(request, options);
        const events = answer.events.map(toEvent).filter((event) => event !== undefined);
        return { outcome: "ok", events, cursor: toCursor(answer.cursor), ended: answer.ended } as const;
      }),
    wait: (processId, waitMs, signal) =>
      askBox(waitMs + pollGraceMs, signal, async (options) => {
        const answer = await processes().wait({ processId, waitMs }, options);
        return { outcome: "ok", execution: toExecutionView(answer.execution) } as const;
      }),
    write: (processId, offset, data, signal) =>
      askBox(callTimeoutMs, signal, async (options) =>
        toStdinOutcome(await processes().write({ processId, offset: BigInt(offset), data }, options)),
      ),
    closeStdin: (processId, signal) =>
      askBox(callTimeoutMs, signal, async (options) =>
        toStdinOutcome(await processes().closeStdin({ processId }, options)),
      ),
    signal: (processId, request, signal) =>
      askBox(callTimeoutMs, signal, async (options) => {
        const killAfter = request.killAfterMs === null ? {} : { killAfterMs: request.killAfterMs };
        const { delivered } = await processes().signal(
          { processId, name: request.name, scope: wireScopes[request.scope], ...killAfter },
          options,
        );
        return { outcome: "ok", delivered } as const;
      }),
    list: (signal) =>
      callBox(callTimeoutMs, signal, async (options) =>
        (await processes().list({}, options)).executions.map(toExecutionView),
      ),
    forget: (processId, signal) =>
      askBox(callTimeoutMs, signal, async (options) => {
        const { existed } = await processes().forget({ processId }, options);
        return { outcome: "ok", existed } as const;
      }),
  };
}

interface Clients {
  readonly processes: Client<typeof Processes>;
  readonly files: Client<typeof Files>;
  readonly control: Client<typeof Control>;
}

/** The clients for the address of the moment; made anew only when it changes. */
function createClients(deps: BoxClientDeps): () => Clients {
  const token = (): string => (typeof deps.token === "string" ? deps.token : deps.token());
  const authorize: Interceptor = (next) => (request) => {
    request.header.set("authorization", `Bearer ${token()}`);
    return next(request);
  };
  let made: { readonly baseUrl: string; readonly clients: Clients } | undefined;
  return () => {
    const baseUrl = deps.baseUrl();
    if (made?.baseUrl === baseUrl) return made.clients;
    const streaming = createConnectTransport({
      baseUrl,
      httpVersion: "1.1",
      interceptors: [authorize],
      acceptCompression: [],
      readMaxBytes: answerMaxBytes,
    });
    const transport = {
      unary: createDirectUnary({ baseUrl, token, answerMaxBytes }),
      stream: streaming.stream,
    };
    const clients = {
      processes: createClient(Processes, transport),
      files: createClient(Files, transport),
      control: createClient(Control, transport),
    };
    made = { baseUrl, clients };
    return clients;
  };
}

function toStartRequest(spec: StartSpec): MessageInitShape<typeof StartRequestSchema> {
  return {
    processId: spec.executionId,
    command:
      spec.command.kind === "shell"
        ? { case: "shell", value: spec.command.text }
        : { case: "argv", value: { args: [...spec.command.argv] } },
    cwd: spec.cwd ?? "",
    env: { ...spec.env },
    user: spec.user ?? "",
    tty: spec.tty,
    stdin: spec.stdin,
    sandbox: { writableRoots: [...spec.sandbox.writableRoots], maskedPaths: [...spec.sandbox.maskedPaths] },
    display: spec.display ?? "",
    lineage: { agentId: spec.lineage.agentId, turnId: spec.lineage.turnId },
    background: spec.background,
    killMs: BigInt(spec.killMs ?? 0),
  };
}

const wireScopes = {
  leader: WireScope.LEADER,
  group: WireScope.GROUP,
  tree: WireScope.TREE,
} as const satisfies Record<SignalScope, WireScope>;

function toStdinOutcome(answer: { readonly state: StdinState; readonly nextOffset: bigint }): StdinOutcome {
  const nextOffset = Number(answer.nextOffset);
  switch (answer.state) {
    case StdinState.ACCEPTED:
      return { outcome: "accepted", nextOffset };
    case StdinState.WRONG_OFFSET:
      return { outcome: "wrong-offset", nextOffset };
    case StdinState.CLOSED:
      return { outcome: "closed" };
    case StdinState.UNSPECIFIED:
      throw new BoxError("box/unavailable", "the exec-daemon sent an answer without a state");
  }
}
