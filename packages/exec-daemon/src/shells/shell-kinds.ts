/** The shells that sessions can have, and which of them are installed. */
import { existsSync } from "node:fs";
import { BoxError } from "@sand/protocol";
import { bashProgram } from "./bash-program.ts";
import { pwshProgram } from "./pwsh-program.ts";
import type { ShellProgram } from "./shell-program.ts";
import { zshProgram } from "./zsh-program.ts";

export const shellKinds = ["bash", "zsh", "pwsh"] as const;
export type ShellKind = (typeof shellKinds)[number];

export const shellPrograms = {
  bash: bashProgram,
  zsh: zshProgram,
  pwsh: pwshProgram,
} as const satisfies Record<ShellKind, ShellProgram>;

/** Throws `exec/invalid` for a name of none; nothing named is bash. */
export function parseShellKind(name: string): ShellKind {
  const kind = shellKinds.find((candidate) => candidate === (name === "" ? "bash" : name));
  if (kind === undefined)
    throw new BoxError("exec/invalid", "there is no such kind of shell", { hint: shellKinds.join(", ") });
  return kind;
}

/** Throws `exec/unsupported` when it isn't installed. */
export function findShell(kind: ShellKind): string {
  const path = shellPrograms[kind].paths.find((candidate) => existsSync(candidate));
  if (path === undefined)
    throw new BoxError("exec/unsupported", `${kind} isn't installed here`, {
      hint: `one of ${shellPrograms[kind].paths.join(", ")}`,
    });
  return path;
}

export function installedShells(): readonly ShellKind[] {
  return shellKinds.filter((kind) => shellPrograms[kind].paths.some((path) => existsSync(path)));
}
