/** Binds the verbs of `process.Process`. Start and Connect answer with the same events; only their beginnings differ. */

import { create } from "@bufbuild/protobuf";
import { Code, ConnectError, type ConnectRouter, type HandlerContext } from "@connectrpc/connect";
import {
  Process,
  type ProcessEvent,
  ProcessEventSchema,
  type ProcessInput,
  ProcessSignal,
  type StreamInputRequest,
} from "@sand/protocol/e2b";
import { keepAlive, keepaliveMs } from "../keep-alive.ts";
import { invalid, notFound } from "../surface-error.ts";
import { describeEnd } from "./describe-end.ts";
import type { ProcessTable } from "./process-table.ts";
import type { ProcessOutput, RunningProcess } from "./running-process.ts";
import { type StartDeps, startProcess } from "./start-process.ts";
import { clampSize } from "./terminal-size.ts";

export function registerProcess(router: ConnectRouter, deps: StartDeps): void {
  const { table } = deps;
  router.service(Process, {
    async list() {
      const processes = await table.running();
      return { processes: processes.map(toInfo) };
    },
    async *start(request, context) {
      const { process, settle } = await startProcess(deps, request, context);
      let isTold = false;
      let isOver = false;
      try {
        yield { event: started(process) };
        isTold = true;
        for await (const event of follow(process, context)) {
          isOver = event.event.case === "end";
          if (isOver) settle();
          yield { event };
        }
      } finally {
        if (!isTold) await process.signal("SIGKILL");
        // Nobody follows any more; what has ended by then is known only to the limit's own timer.
        if (isOver) settle();
      }
    },
    async *connect(request, context) {
      const process = await table.find(request.process, "any");
      yield { event: started(process) };
      for await (const event of follow(process, context)) yield { event };
    },
    async update(request) {
      const process = await table.find(request.process, "running");
      if (request.pty !== undefined) process.resize(clampSize(request.pty.size));
      return {};
    },
    async sendInput(request) {
      const process = await table.find(request.process, "running");
      await writeInput(process, request.input);
      return {};
    },
    async streamInput(requests) {
      await streamInput(table, requests);
      return {};
    },
    async sendSignal(request) {
      const process = await table.find(request.process, "running");
      if (!(await process.signal(toSignal(request.signal)))) throw notFound("the process has ended");
      return {};
    },
    async closeStdin(request) {
      await (await table.find(request.process, "running")).closeStdin();
      return {};
    },
  });
}

function toInfo(process: RunningProcess) {
  const { cmd, args, envs, cwd, tag } = process.config;
  return {
    pid: process.pid,
    config: { cmd, args: [...args], envs: { ...envs }, ...(cwd === undefined ? {} : { cwd }) },
    ...(tag === undefined ? {} : { tag }),
  };
}

/** The events after the first one. A deadline is an error of the stream; a client that left needs no answer. */
async function* follow(process: RunningProcess, context: HandlerContext): AsyncGenerator<ProcessEvent> {
  const { signal } = context;
  try {
    const events = toEvents(process.output(signal));
    yield* keepAlive(events, keepaliveMs(context.requestHeader), keepalive);
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  if (signal.aborted) throw toAbortError(signal);
}

function toAbortError(signal: AbortSignal): ConnectError {
  const { reason } = signal;
  return reason instanceof ConnectError ? reason : new ConnectError("the client left", Code.Canceled);
}

async function* toEvents(output: AsyncIterable<ProcessOutput>): AsyncGenerator<ProcessEvent> {
  for await (const piece of output) yield toEvent(piece);
}

function toEvent(piece: ProcessOutput): ProcessEvent {
  switch (piece.kind) {
    case "stdout":
    case "stderr":
    case "pty":
      return create(ProcessEventSchema, {
        event: { case: "data", value: { output: { case: piece.kind, value: piece.bytes } } },
      });
    case "end":
      return create(ProcessEventSchema, { event: { case: "end", value: describeEnd(piece.end) } });
  }
}

function started(process: RunningProcess): ProcessEvent {
  return create(ProcessEventSchema, { event: { case: "start", value: { pid: process.pid } } });
}

function keepalive(): ProcessEvent {
  return create(ProcessEventSchema, { event: { case: "keepalive", value: {} } });
}

async function writeInput(process: RunningProcess, input: ProcessInput | undefined): Promise<void> {
  const given = input?.input;
  if (given?.case === undefined) throw invalid("there is no input");
  await process.write(given.case, given.value);
}

async function streamInput(table: ProcessTable, requests: AsyncIterable<StreamInputRequest>): Promise<void> {
  let process: RunningProcess | undefined;
  for await (const { event } of requests) {
    switch (event.case) {
      case "start":
        if (process !== undefined) throw invalid("a stream of input is for one process");
        process = await table.find(event.value.process, "running");
        break;
      case "data":
        if (process === undefined) throw invalid("a stream of input begins with `start`");
        await writeInput(process, event.value.input);
        break;
      case "keepalive":
        break;
      case undefined:
        throw invalid("the message is empty");
    }
  }
  if (process === undefined) throw invalid("a stream of input begins with `start`");
}

function toSignal(signal: ProcessSignal): "SIGTERM" | "SIGKILL" {
  switch (signal) {
    case ProcessSignal.SIGTERM:
      return "SIGTERM";
    case ProcessSignal.SIGKILL:
      return "SIGKILL";
    case ProcessSignal.UNSPECIFIED:
      throw invalid("only SIGTERM and SIGKILL can be sent");
  }
}
