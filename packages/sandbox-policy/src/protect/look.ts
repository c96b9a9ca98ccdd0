/** Looks at the file system for the finders, remembers what was looked at, and never throws: what can't be seen isn't there. */
import {
  type Dirent,
  lstatSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  statSync,
} from "node:fs";
import { dirname } from "node:path";

export type Seen = "file" | "folder" | "link" | "nothing";

export interface Look {
  kindOf(path: string): Seen;
  list(path: string): readonly Dirent[];
  /** undefined: not there, not readable or too long */
  read(path: string): string | undefined;
  real(path: string): string | undefined;
  linkTarget(path: string): string | undefined;
  /** all folders and files whose change would change the answer */
  readonly looked: ReadonlySet<string>;
}

const textMaxBytes = 256 * 1024;

export function createLook(): Look {
  const looked = new Set<string>();
  const listed = new Set<string>();
  const attempt = <T>(path: string, ask: () => T): T | undefined => {
    // That something appears or goes is seen by its folder already.
    if (!listed.has(dirname(path))) looked.add(path);
    try {
      return ask();
    } catch {
      return undefined;
    }
  };
  return {
    looked,
    kindOf(path) {
      const stat = attempt(path, () => lstatSync(path));
      if (stat === undefined) return "nothing";
      if (stat.isSymbolicLink()) return "link";
      return stat.isDirectory() ? "folder" : "file";
    },
    list(path) {
      looked.add(path);
      listed.add(path);
      return attempt(path, () => readdirSync(path, { withFileTypes: true })) ?? [];
    },
    read(path) {
      looked.add(path);
      return attempt(path, () => {
        const stat = statSync(path);
        return stat.isFile() && stat.size <= textMaxBytes ? readFileSync(path, "utf8") : undefined;
      });
    },
    real: (path) => attempt(path, () => realpathSync(path)),
    linkTarget: (path) => attempt(path, () => readlinkSync(path)),
  };
}

/** Changes whenever one of the paths does; cheap enough to be asked before every run. */
export function signatureOf(paths: Iterable<string>): string {
  let signature = "";
  for (const path of paths) {
    const stat = lstatSync(path, { bigint: true, throwIfNoEntry: false });
    signature += stat === undefined ? "-" : `${stat.ino}.${stat.ctimeNs}`;
    signature += ";";
  }
  return signature;
}
