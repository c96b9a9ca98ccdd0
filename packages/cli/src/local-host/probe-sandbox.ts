/** Whether commands can be fenced in here: runs bubblewrap once, the way that it will be used. */
import { execFile } from "node:child_process";

export type SandboxProbe =
  | { readonly kind: "works" }
  | { readonly kind: "missing" }
  | { readonly kind: "refused"; readonly reason: string };

const probeTimeoutMs = 5_000;
const reasonMaxChars = 200;

export function probeSandbox(environment: Readonly<Record<string, string>>): Promise<SandboxProbe> {
  const args = [
    "--ro-bind",
    "/",
    "/",
    "--dev",
    "/dev",
    "--proc",
    "/proc",
    "--unshare-pid",
    "--die-with-parent",
    "true",
  ];
  return new Promise((resolve) => {
    execFile(
      "bwrap",
      args,
      { timeout: probeTimeoutMs, env: environment, encoding: "utf8" },
      (error, _stdout, stderr) => {
        if (error === null) resolve({ kind: "works" });
        else if (error.code === "ENOENT") resolve({ kind: "missing" });
        else resolve({ kind: "refused", reason: (stderr.trim() || error.message).slice(0, reasonMaxChars) });
      },
    );
  });
}

export function describeProbe(probe: SandboxProbe): string {
  switch (probe.kind) {
    case "works":
      return "bubblewrap works";
    case "missing":
      return "bubblewrap (bwrap) is not installed";
    case "refused":
      return `bubblewrap can't run here: ${probe.reason}`;
  }
}

export const sandboxHint =
  "install it (Debian: apt-get install bubblewrap) or allow user namespaces; or give the fence up with sand up --no-sandbox";
