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

/** what a program may expect of our clients; a request can say otherwise */
const terminalEnv = { TERM: "xterm-256color" } as const;

export function planTerminal(policy: BoxPolicy, request: SpawnRequest, id: string): TerminalPlan {
  const command = request.argv.length > 0 ? request.argv : [loginShell(policy), "-l"];
  // A second terminal of the same name, after the first was forgotten, is another execution.
  const executionId = `terminal:${id}:${randomBytes(4).toString("hex")}`;
  const start = create(StartRequestSchema, {
    ...{ processId: executionId, command: { case: "argv", value: { args: [...command] } }, cwd: request.cwd },
    ...{ env: { ...terminalEnv, ...request.env }, tty: true },
  });
  validateStart({ ...start, tty: false });
  const launch = planLaunch(policy, start);
  return {
    ...{
      id,
      command,
      user: launch.user,
      onDisconnect: request.onDisconnect,
      idleGraceMs: request.idleGraceMs,
    },
    launch: {
      ...{ executionId, argv: launch.argv, env: launch.env, cwd: launch.cwd },
      ...{ cols: request.cols, rows: request.rows },
      ...(launch.user === undefined ? {} : { user: launch.user }),
    },
  };
}

function loginShell(policy: BoxPolicy): string {
  const asked = policy.commandEnv.SHELL ?? "";
  return [asked, "/bin/bash"].find((path) => path.startsWith("/") && existsSync(path)) ?? "/bin/sh";
}
