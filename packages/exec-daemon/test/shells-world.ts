/** Session shells of a real daemon, and one command of a session from its start to its end. */
import { randomUUID } from "node:crypto";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { type Client, createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import type { Event, Exited } from "@sand/protocol/exec";
import { type ShellSession, Shells, type ShellsRunRequestSchema } from "@sand/protocol/exec-shells";
import { gather, startTestDaemon, type TestDaemon, token } from "./daemon-process.ts";

export type RunInit = Omit<MessageInitShape<typeof ShellsRunRequestSchema>, "$typeName">;

export interface RanCommand {
  readonly processId: string;
  readonly stdout: string;
  readonly stderr: string;
  readonly exited: Exited | undefined;
  readonly events: readonly Event[];
  /** the session afterwards */
  readonly session: ShellSession;
}

export interface ShellsWorld {
  readonly daemon: TestDaemon;
  readonly shells: Client<typeof Shells>;
  /** Makes a session and answers its id. */
  create(shell?: string, more?: { cwd?: string; login?: boolean; keepErrexit?: boolean }): Promise<string>;
  /** Runs it to its end. */
  run(sessionId: string, command: string, more?: RunInit): Promise<RanCommand>;
  /** The same with another daemon on the same folders. */
  again(env?: Record<string, string>): Promise<ShellsWorld>;
}

/** longer than anything takes here, however busy the machine */
const patientMs = 20_000;

export async function startShellsWorld(env: Record<string, string> = {}): Promise<ShellsWorld> {
  return worldOf(await startTestDaemon(env));
}

function worldOf(daemon: TestDaemon): ShellsWorld {
  const shells = clientOf(daemon, Shells);
  return {
    ...{ daemon, shells },
    async create(shell = "bash", more = {}) {
      const sessionId = `s-${randomUUID()}`;
      await shells.create({ sessionId, shell, ...more });
      return sessionId;
    },
    async run(sessionId, command, more = {}) {
      const processId = more.processId ?? randomUUID();
      await shells.run({ sessionId, processId, command, waitMs: patientMs, ...more });
      const { events, stdout, stderr } = await gather(daemon, processId);
      const { session } = await shells.get({ sessionId, waitMs: patientMs });
      if (session === undefined) throw new Error("a session that was asked for is answered");
      const exit = events.find(({ kind }) => kind.case === "exited")?.kind;
      return {
        ...{ processId, events, session, stdout: stdout.toString(), stderr: stderr.toString() },
        exited: exit?.case === "exited" ? exit.value : undefined,
      };
    },
    again: async (more) => worldOf(await daemon.again(more)),
  };
}

export function clientOf<S extends Parameters<typeof createClient>[0]>(
  daemon: TestDaemon,
  service: S,
): Client<S> {
  const transport = createConnectTransport({
    baseUrl: daemon.baseUrl,
    httpVersion: "1.1",
    interceptors: [
      (next) => (request) => {
        request.header.set("authorization", `Bearer ${token}`);
        return next(request);
      },
    ],
  });
  return createClient(service, transport);
}
