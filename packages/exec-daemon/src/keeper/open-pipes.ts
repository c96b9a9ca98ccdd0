/**
 * Real pipes for a command. The ones that Node makes by itself are sockets, and a socket can't be opened again through
 * `/dev/stdout` or `/dev/stdin`, which scripts do all the time.
 *
 * Named pipes are made, both ends opened, and the names removed before the command starts. The command's ends block as
 * programs expect; ours don't.
 */
import { execFileSync } from "node:child_process";
import { closeSync, constants, openSync, rmSync } from "node:fs";
import { Socket } from "node:net";
import { join } from "node:path";

export interface CommandPipes {
  /** what the command gets as 0, 1 and 2; 0 is absent when it has no input */
  readonly child: { readonly stdin: number | undefined; readonly stdout: number; readonly stderr: number };
  readonly stdin: Socket | undefined;
  readonly stdout: Socket;
  readonly stderr: Socket;
  /** Closes the command's ends here, so that theirs are the only ones. To be called once it is started, or never will be. */
  releaseChildEnds(): void;
}

const { O_RDONLY, O_RDWR, O_WRONLY, O_NONBLOCK } = constants;

export function openPipes(folder: string, withStdin: boolean): CommandPipes {
  const names = ["pipe-0", "pipe-1", "pipe-2"].map((name) => join(folder, name));
  const [inPath = "", outPath = "", errPath = ""] = names;
  // Open to every account, for the command may have another one and open `/dev/stdout` again. Nobody else can reach
  // the folder, and the names don't stay.
  execFileSync("mkfifo", ["-m", "666", ...names], {
    env: { PATH: "/usr/local/bin:/usr/bin:/bin" },
    stdio: "ignore",
  });
  try {
    const stdin = withStdin ? openInput(inPath) : undefined;
    const stdout = openOutput(outPath);
    const stderr = openOutput(errPath);
    const childEnds = [stdin?.child, stdout.child, stderr.child].filter((fd) => fd !== undefined);
    return {
      child: { stdin: stdin?.child, stdout: stdout.child, stderr: stderr.child },
      stdin:
        stdin === undefined ? undefined : new Socket({ fd: stdin.ours, readable: false, writable: true }),
      stdout: new Socket({ fd: stdout.ours, readable: true, writable: false }),
      stderr: new Socket({ fd: stderr.ours, readable: true, writable: false }),
      releaseChildEnds() {
        for (const fd of childEnds.splice(0)) closeSync(fd);
      },
    };
  } finally {
    for (const name of names) rmSync(name, { force: true });
  }
}

/** Our end first: opening it never waits, and then the other one doesn't either. */
function openOutput(path: string): { ours: number; child: number } {
  const ours = openSync(path, O_RDONLY | O_NONBLOCK);
  return { ours, child: openSync(path, O_WRONLY) };
}

/** Opening for both never waits; that descriptor stands in for the missing ends until they are open. */
function openInput(path: string): { ours: number; child: number } {
  const both = openSync(path, O_RDWR);
  const child = openSync(path, O_RDONLY);
  const ours = openSync(path, O_WRONLY | O_NONBLOCK);
  closeSync(both);
  return { ours, child };
}
