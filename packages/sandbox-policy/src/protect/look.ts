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
import { dirname, join } from "node:path";

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
const nothingIgnored: ReadonlySet<string> = new Set();

/** `ignored`: mount points that were made for other runs. They are no part of what is there. */
export function createLook(ignored = nothingIgnored): Look {
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
      if (ignored.has(path)) return "nothing";
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

/**
 * Changes whenever one of the paths does; cheap enough to be asked before every run. In a folder of `absent` a mount
 * point of ours comes and goes: there the names count, without those that are ours just now.
 */
export function signatureOf(
  paths: Iterable<string>,
  absent: readonly string[],
  ignored = nothingIgnored,
): string {
  const disturbed = new Set(absent.map((path) => dirname(path)));
  let signature = "";
  for (const path of paths) {
    const stat = ignored.has(path) ? undefined : lstatSync(path, { bigint: true, throwIfNoEntry: false });
    if (stat === undefined) signature += "-;";
    else if (disturbed.has(path)) signature += `${stat.ino}.${namesIn(path, ignored)};`;
    else signature += `${stat.ino}.${stat.ctimeNs};`;
  }
  return signature;
}

function namesIn(folder: string, ignored: ReadonlySet<string>): string {
  try {
    const names = readdirSync(folder).filter((name) => !ignored.has(join(folder, name)));
    return names.sort().join("/");
  } catch {
    // Gone or closed: then there is nothing to find in it either.
    return "";
  }
}
