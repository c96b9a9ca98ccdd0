/** What a command's sandbox is planned from: roots, what is masked and protected in them, and the network. */
export interface MaskedPath {
  readonly path: string;
  readonly kind: "folder" | "file";
}

/**
 * `read-only` and `kept` exist. `absent-…` is kept from being made: whoever starts the run puts an empty file or folder
 * there, and removes it afterwards.
 */
export interface ProtectedPath {
  readonly path: string;
  readonly how: "read-only" | "kept" | "absent-folder" | "absent-file";
  /** what it is protected as, for people */
  readonly rule: string;
}

export type SandboxNetwork =
  | { readonly kind: "open" }
  | { readonly kind: "none" }
  /** the folder that holds the proxy's socket */
  | { readonly kind: "proxied"; readonly socketFolder: string };

export interface SandboxPolicy {
  /** the folder that every command shares */
  readonly workspaceRoot: string;
  readonly workspaceAccess?: "write" | "read";
  /** the folder that commands see as `/tmp`, kept from run to run, apart from the machine's own; null: a fresh one */
  readonly temporaryRoot: string | null;
  readonly writableRoots: readonly string[];
  /** shown although they lie where nothing is shown, in `/tmp` for instance */
  readonly readOnlyRoots: readonly string[];
  readonly reads?: "everything" | "listed";
  readonly masked: readonly MaskedPath[];
  readonly protectedPaths?: readonly ProtectedPath[];
  readonly network?: SandboxNetwork;
}
