/**
 * Shell: runs a command in the box. The execution id is the executor's key, so asking again is the same execution:
 * a restarted host attaches to the running command or collects the finished one, and never runs it twice.
 */
import type { Tool, ToolContext, ToolInvocation, ToolSettlement } from "@sand/agent-core";
import type { Clock } from "@sand/protocol";
import { type Static, Type } from "typebox";
import type { BoxPort, ExecutionEvent, StartSpec } from "../box/box-port.ts";
import { collectExecution } from "./collect-execution.ts";
import { defineTool } from "./define-tool.ts";
import { settleExecution } from "./describe-end.ts";
import {
  backgroundSettleMs,
  shellOverrunMaxMs,
  shellSettleMs,
  shellTimeoutDefaultMs,
  shellTimeoutMaxMs,
} from "./limits.ts";
import { makeOutputHandle } from "./output-handle.ts";
import { toOneLine } from "./safe-text.ts";
import { settleInterrupted, settleRefused } from "./settlements.ts";

const parameters = Type.Object(
  {
    command: Type.String({ minLength: 1, description: "the command line, as for `sh -c`" }),
    cwd: Type.Optional(
      Type.String({
        minLength: 1,
        description: "working directory; relative to the workspace; the workspace itself by default",
      }),
    ),
    timeoutMs: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: shellTimeoutMaxMs,
        description: `stop the command after this many milliseconds; ${shellTimeoutDefaultMs} by default, no limit in the background`,
      }),
    ),
    background: Type.Optional(
      Type.Boolean({ description: "return at once and let the command run on, for servers and long work" }),
    ),
  },
  { additionalProperties: false },
);

type ShellArgs = Static<typeof parameters>;

interface ShellDeps {
  readonly box: BoxPort;
  readonly clock: Clock;
}

export function createShellTool(deps: ShellDeps): Tool {
  return defineTool({
    name: "Shell",
    description:
      "Runs a shell command in the workspace and returns its exit code and output. There is no terminal and no input. " +
      "A long output is cut in the middle and names a handle that ReadFile takes.",
    parameters,
    replay: "keyed",
    summarize: (args) => toOneLine(args.command, 120),
    run: (args, invocation, context) => runShell(deps, args, invocation, context),
  });
}

async function runShell(
  deps: ShellDeps,
  args: ShellArgs,
  invocation: ToolInvocation,
  context: ToolContext,
): Promise<ToolSettlement> {
  const { executionId } = invocation;
  const killMs = args.timeoutMs ?? (args.background === true ? null : shellTimeoutDefaultMs);
  if (context.signal.aborted && !invocation.resumed)
    return settleInterrupted("Interrupted before the command was started.");
  let events: readonly ExecutionEvent[] = [];
  // An interrupted call that an earlier process may have begun is not started here, only found and stopped.
  if (!context.signal.aborted) {
    // The turn's signal isn't passed on: a start that is given up half-way would leave a command that nobody watches.
    const settleMs = args.background === true ? 0 : shellSettleMs;
    const started = await deps.box.start(startSpec(args, invocation, killMs), { settleMs });
    if (started.outcome === "refused") return settleRefused("The command was not started", started);
    if (args.background === true && (await runsOn(deps.box, invocation)) && !context.signal.aborted) {
      return settleBackground(invocation);
    }
    events = started.events;
  }
  const endMaxMs = (killMs ?? 0) + shellOverrunMaxMs;
  return settleExecution(
    executionId,
    await collectExecution(deps, { executionId, context, endMaxMs, events }),
    killMs,
  );
}

function startSpec(
  args: ShellArgs,
  { executionId, agentId, turnId }: ToolInvocation,
  killMs: number | null,
): StartSpec {
  return {
    executionId,
    command: { kind: "shell", text: args.command },
    cwd: args.cwd ?? null,
    env: {},
    user: null,
    tty: false,
    stdin: false,
    sandbox: { writableRoots: [], maskedPaths: [] },
    display: null,
    lineage: { agentId, turnId },
    background: args.background ?? false,
    killMs,
  };
}

/** False when a background command ended at once, mostly by a mistake: then it is reported like any other. */
async function runsOn(box: BoxPort, { executionId }: ToolInvocation): Promise<boolean> {
  const waited = await box.wait(executionId, backgroundSettleMs);
  if (waited.outcome === "refused") return false;
  const { state } = waited.execution.status;
  return state === "running" || state === "pending";
}

function settleBackground({ executionId }: ToolInvocation): ToolSettlement {
  const handle = makeOutputHandle(executionId);
  return {
    outcome: "ok",
    text: `started in the background. Read its output and state with ReadFile {"handle": "${handle}"}.`,
    outputHandle: handle,
    details: { background: true, executionId },
  };
}
