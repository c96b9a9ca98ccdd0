/**
 * Turns a request for a terminal into what a backend runs. It goes through the plan of commands, so account, fence,
 * environment and folder are exactly theirs; only the terminal's own variables come on top.
 */
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { create } from "@bufbuild/protobuf";
import { StartRequestSchema } from "@sand/protocol/exec";
import type { BoxPolicy } from "../box-policy.ts";
import { validateStart } from "../processes/parse-start.ts";
import { planLaunch } from "../processes/plan-launch.ts";
import type { SpawnRequest } from "./parse-spawn.ts";
import type { TerminalPlan } from "./terminal.ts";
import { toLabels } from "./terminal-label.ts";

/** what a program may expect of our clients; a request can say otherwise */
const terminalEnv = { TERM: "xterm-256color" } as const;

export interface NamedRequest {
  readonly id: string;
  /** of the request */
  readonly digest: string;
  readonly nowMs: number;
}

export function planTerminal(policy: BoxPolicy, request: SpawnRequest, name: NamedRequest): TerminalPlan {
  const { id } = name;
  const command = request.argv.length > 0 ? request.argv : [loginShell(policy), "-l"];
  // A second terminal of the same name, after the first was forgotten, is another execution.
  const executionId = `terminal:${id}:${randomBytes(4).toString("hex")}`;
  const start = create(StartRequestSchema, {
    ...{ processId: executionId, command: { case: "argv", value: { args: [...command] } }, cwd: request.cwd },
    ...{ env: { ...terminalEnv, ...request.env }, tty: true },
  });
  validateStart({ ...start, tty: false });
  const launch = planLaunch(policy, start);
  const { onDisconnect, idleGraceMs, cols, rows } = request;
  const kept = { id, command, onDisconnect, idleGraceMs, createdAtMs: name.nowMs };
  return {
    ...{ ...kept, user: launch.user },
    launch: {
      ...{ executionId, argv: launch.argv, env: launch.env, cwd: launch.cwd, cols, rows },
      labels: toLabels({ ...kept, digest: name.digest }),
      ...(launch.user === undefined ? {} : { user: launch.user }),
    },
  };
}

function loginShell(policy: BoxPolicy): string {
  const asked = policy.commandEnv.SHELL ?? "";
  return [asked, "/bin/bash"].find((path) => path.startsWith("/") && existsSync(path)) ?? "/bin/sh";
}
