/** What a kind of shell has to bring, so that sessions know nothing of any of them. */
import type { StateRecord } from "./shell-state.ts";

/** the descriptors that a command of a session starts with beyond the usual ones */
export interface StateDescriptors {
  readonly load: number;
  readonly save: number;
}

export interface LoadPlan {
  readonly records: readonly StateRecord[];
  /** undefined: where the process starts */
  readonly cwd: string | undefined;
  /** variables to unset before those of the records are set */
  readonly unset: readonly string[];
  /** false: the state at the end is nobody's */
  readonly saves: boolean;
  readonly keepErrexit: boolean;
  readonly descriptors: StateDescriptors;
}

export interface ShellProgram {
  readonly paths: readonly string[];
  /** The argument list of one command. */
  argv(path: string, command: string, descriptors: StateDescriptors, isLogin: boolean): readonly string[];
  /** What is read from the load descriptor before the command. */
  loadText(plan: LoadPlan): string;
  /** start files of a login shell, for what was read from them once; relative ones are in the home folder */
  readonly loginFiles: readonly string[];
}
