/**
 * Sessions of tmux on a socket of their own, for whoever wants windows that outlive every client. Its server is an
 * execution like any other, so that it is listed, accounted for and ended as one; so is each question to it, which is
 * forgotten once it is answered. A terminal shows a session by running its attach argv.
 *
 * Every account that commands have may use the socket: tmux itself refuses any other.
 */
import { createHash, randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import { createKeyedMutex } from "@sand/node-kit";
import { BoxError } from "@sand/protocol";
import { StartRequestSchema } from "@sand/protocol/exec";
import type { Tmux, TmuxCreateRequest } from "@sand/protocol/exec-shells";
import type { Ledger } from "../ledger/ledger.ts";
import type { TrackedExecution } from "../ledger/tracked-execution.ts";
import { isRunning } from "../ledger/tracked-execution.ts";
import { createEventReader } from "../processes/execution-events.ts";
import type { Start } from "../processes/start.ts";
import { tmuxLimits } from "./shell-limits.ts";

export interface TmuxDeps {
  readonly dataRoot: string;
  readonly ledger: Ledger;
  readonly start: Start;
}

type Row = ReturnType<typeof toRow>;
interface Answer {
  readonly code: number;
  readonly text: string;
}

const paths = ["/usr/bin/tmux", "/usr/local/bin/tmux"];
const serverLabel = "sand.tmux";
const rowFormat = "#{session_name}|#{session_windows}|#{session_attached}|#{session_created}";

export function createTmux(deps: TmuxDeps): ServiceImpl<typeof Tmux> {
  // Short, because the path of a socket may have no more than a hundred characters; and in `/tmp`, which is the same
  // place for every command, whether it is enclosed or not.
  const folder = `/tmp/.sand-tmux-${createHash("sha256").update(deps.dataRoot).digest("hex").slice(0, 12)}`;
  const oneByOne = createKeyedMutex();
  const base = (): readonly string[] => [findTmux(), "-S", `${folder}/socket`, "-f", "/dev/null"];
  const attachArgv = (name: string): string[] => [...base(), "attach-session", "-t", `=${name}`];

  async function ask(...args: readonly string[]): Promise<Answer> {
    const processId = `tmux-ask:${randomBytes(8).toString("hex")}`;
    const request = create(StartRequestSchema, {
      ...{ processId, killMs: BigInt(tmuxLimits.askMaxMs) },
      command: { case: "argv", value: { args: [...base(), ...args.map(escapeEnd)] } },
    });
    await deps.start(request);
    const execution = deps.ledger.find(processId);
    return execution === undefined ? { code: 1, text: "" } : await readAnswer(deps.ledger, execution);
  }

  async function list(): Promise<readonly Row[]> {
    if (findServer(deps.ledger) === undefined) return [];
    const { code, text } = await ask("list-sessions", "-F", rowFormat);
    return code === 0
      ? text
          .split("\n")
          .filter(Boolean)
          .map((line) => toRow(line, attachArgv))
      : [];
  }

  async function openServer(): Promise<void> {
    if (findServer(deps.ledger) !== undefined) return;
    const request = create(StartRequestSchema, {
      ...{ processId: `tmux-server:${randomBytes(8).toString("hex")}`, labels: { [serverLabel]: "1" } },
      env: { TERM: "xterm-256color" },
      command: {
        case: "argv",
        value: { args: ["/bin/sh", "-c", serverScript, "sh", folder, ...base(), "-D"] },
      },
    });
    await deps.start(request);
    const endMs = performance.now() + tmuxLimits.askMaxMs;
    while ((await ask("show-options", "-s")).code !== 0) {
      if (performance.now() > endMs || findServer(deps.ledger) === undefined)
        throw new BoxError("exec/spawn-failed", "tmux did not come up");
    }
  }

  async function createOne(request: TmuxCreateRequest) {
    const { name, argv, cwd, env, cols, rows } = request;
    validateName(name);
    await openServer();
    const before = await list();
    const known = before.find((row) => row.name === name);
    if (known !== undefined) return { existing: true, session: known };
    if (before.length >= tmuxLimits.sessionsMax)
      throw new BoxError("exec/too-many", `there are ${tmuxLimits.sessionsMax} sessions of tmux already`);
    const variables = Object.entries(env).flatMap(([key, value]) => ["-e", `${key}=${value}`]);
    const size = ["-x", String(sizeOf(cols, 80)), "-y", String(sizeOf(rows, 24))];
    const place = cwd === "" ? [] : ["-c", cwd];
    const made = await ask("new-session", "-d", "-s", name, ...size, ...place, ...variables, ...behind(argv));
    const session = (await list()).find((row) => row.name === name);
    // A program that ended at once has taken its session along.
    if (made.code !== 0 || session === undefined)
      throw new BoxError(
        "exec/spawn-failed",
        "tmux could not open the session, or its program has ended already",
      );
    return { existing: false, session };
  }

  return {
    create: (request) => oneByOne("tmux", () => createOne(request)),
    list: () => oneByOne("tmux", async () => ({ sessions: [...(await list())] })),
    kill: ({ name }) =>
      oneByOne("tmux", async () => {
        validateName(name);
        const existed = (await list()).some((row) => row.name === name);
        if (existed) await ask("kill-session", "-t", `=${name}`);
        if (existed && (await list()).length === 0) await ask("kill-server");
        return { existed };
      }),
  };
}

function findTmux(): string {
  const path = paths.find((candidate) => existsSync(candidate));
  if (path === undefined)
    throw new BoxError("exec/unsupported", "tmux isn't installed here", { hint: "apt-get install tmux" });
  return path;
}

function findServer(ledger: Ledger): TrackedExecution | undefined {
  return ledger.list().find((execution) => {
    if (execution.start.labels?.[serverLabel] === undefined) return false;
    execution.refresh();
    return isRunning(execution);
  });
}

/**
 * Runs the server in the foreground, so that it is this execution, and clears up behind it. The folder's name can be
 * guessed, so one that another account has made first isn't trusted.
 */
const serverScript = [
  'umask 077; folder=$1; shift; mkdir -p "$folder"; cd /',
  '[ -O "$folder" ] && [ ! -L "$folder" ] && chmod 700 "$folder" || exit 1',
  'trap : TERM; "$@"; rm -rf "$folder"',
].join("\n");

/** Dots and colons mean something else in a target of tmux. */
function validateName(name: string): void {
  if (!/^[A-Za-z0-9][A-Za-z0-9_-]*$/u.test(name) || name.length > tmuxLimits.nameMaxChars)
    throw new BoxError("exec/invalid", "a name is letters, digits, dashes and underscores");
}

/** tmux takes a semicolon at the end of a word for the end of its own command. */
function escapeEnd(word: string): string {
  return word.endsWith(";") ? `${word.slice(0, -1)}\\;` : word;
}

function behind(argv: readonly string[]): readonly string[] {
  return argv.length === 0 ? [] : ["--", ...argv];
}

function sizeOf(asked: number, usual: number): number {
  return asked === 0 ? usual : Math.min(asked, 1000);
}

function toRow(line: string, attachArgv: (name: string) => string[]) {
  const [name = "", windows = "", attached = "", created = ""] = line.split("|");
  return {
    ...{ name, windows: Number(windows), attached: Number(attached) },
    createdAtMs: BigInt(created) * 1000n,
    attachArgv: attachArgv(name),
  };
}

async function readAnswer(ledger: Ledger, execution: TrackedExecution): Promise<Answer> {
  const deadline = AbortSignal.timeout(2 * tmuxLimits.askMaxMs);
  while (execution.closed === undefined && !deadline.aborted)
    await execution.changes.after(execution.changes.version, tmuxLimits.askMaxMs, deadline);
  if (execution.closed === undefined) return { code: 1, text: "" };
  const reader = createEventReader(execution, { seq: 0, stdout: 0, stderr: 0 });
  const pieces: Uint8Array[] = [];
  while (!reader.ended) {
    const events = reader.read(tmuxLimits.answerMaxBytes);
    if (events.length === 0) break;
    for (const { kind } of events)
      if (kind.case === "output" && kind.value.stream === 1) pieces.push(kind.value.data);
  }
  const code = execution.exit?.outcome === "known" ? (execution.exit.exit.code ?? 1) : 1;
  await ledger.remove(execution);
  return { code, text: Buffer.concat(pieces).toString("utf8") };
}
