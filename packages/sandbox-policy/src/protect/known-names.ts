/** The names by which agents, shells and ssh find what they obey without being asked. */

/** folders in which a coding agent looks for its own settings and for commands to run */
export const agentFolders = [".claude", ".codex", ".cursor", ".gemini", ".sand"] as const;
/** the same of editors, closed where they are: making the first ones of a project is everyday work */
export const editorFolders = [".idea", ".vscode"] as const;
export const agentFiles = [".mcp.json"] as const;

/** read by a shell, by git or by ssh at their start, in a home */
export const homeFiles = [
  ".bash_login",
  ".bash_logout",
  ".bash_profile",
  ".bashrc",
  ".envrc",
  ".gitconfig",
  ".profile",
  ".zlogin",
  ".zlogout",
  ".zprofile",
  ".zshenv",
  ".zshrc",
] as const;
export const homeFolders = [".ssh", ".config/git", ".config/fish", ".config/powershell", ".gnupg"] as const;

/** where many small folders lie and no repository of its own is looked for */
export const unsearchedFolders: ReadonlySet<string> = new Set([
  ...[
    ".git",
    ".cache",
    ".hg",
    ".svn",
    ".venv",
    "__pycache__",
    "node_modules",
    "target",
    "vendor-cache",
    "venv",
  ],
]);
