/**
 * How a command's end is told here: a code, or -1 and the signal's name in words, as E2B's clients know it. What
 * nobody knows is said to be unknown. Pure.
 */
export interface EndFacts {
  readonly code: number | null;
  /** as in `SIGKILL` */
  readonly signal: string | null;
  /** why the end isn't known; empty when it is */
  readonly unknown: string;
}

export interface EndEvent {
  readonly exitCode: number;
  readonly exited: boolean;
  readonly status: string;
  readonly error?: string;
}

const signalWords: Readonly<Record<string, string>> = {
  SIGABRT: "aborted",
  SIGALRM: "alarm clock",
  SIGBUS: "bus error",
  SIGFPE: "floating point exception",
  SIGHUP: "hangup",
  SIGILL: "illegal instruction",
  SIGINT: "interrupt",
  SIGKILL: "killed",
  SIGPIPE: "broken pipe",
  SIGQUIT: "quit",
  SIGSEGV: "segmentation fault",
  SIGTERM: "terminated",
  SIGTRAP: "trace/breakpoint trap",
};

export function describeEnd(end: EndFacts): EndEvent {
  if (end.unknown !== "") {
    const status = `unknown: ${end.unknown}`;
    return { exitCode: -1, exited: false, status, error: status };
  }
  if (end.signal !== null) {
    const status = `signal: ${signalWords[end.signal] ?? end.signal}`;
    return { exitCode: -1, exited: false, status, error: status };
  }
  const exitCode = end.code ?? -1;
  const status = `exit status ${exitCode}`;
  return { exitCode, exited: true, status, ...(exitCode === 0 ? {} : { error: status }) };
}
