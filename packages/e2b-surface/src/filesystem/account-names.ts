/** The names of accounts and groups by their numbers, as `ls` shows them. The files are read again when they change. */
import { readFileSync, statSync } from "node:fs";
import { limits } from "../limits.ts";

export interface AccountNames {
  owner(uid: number): string;
  group(gid: number): string;
}

export function createAccountNames(files = { passwd: "/etc/passwd", group: "/etc/group" }): AccountNames {
  const owners = createNameTable(files.passwd);
  const groups = createNameTable(files.group);
  return { owner: owners, group: groups };
}

function createNameTable(path: string): (id: number) => string {
  let names = new Map<number, string>();
  let readAs = "";
  return (id) => {
    const facts = statSync(path, { throwIfNoEntry: false });
    const version = facts === undefined ? "" : `${facts.ino} ${facts.size} ${facts.mtimeMs}`;
    if (version !== readAs) {
      readAs = version;
      names = facts !== undefined && facts.size <= limits.accountFileMaxBytes ? readNames(path) : new Map();
    }
    // A number without a name is shown as it is.
    return names.get(id) ?? String(id);
  };
}

function readNames(path: string): Map<number, string> {
  const names = new Map<number, string>();
  for (const line of readFileSync(path, "utf8").split("\n")) {
    const [name = "", , id = ""] = line.split(":");
    // Of two names for one number the first is the one that is shown.
    if (name !== "" && /^\d+$/u.test(id) && !names.has(Number(id))) names.set(Number(id), name);
  }
  return names;
}
