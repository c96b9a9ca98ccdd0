/** What one simple command does by its name and words. Pure; a word that is only known at run time is undefined. */
import { basename } from "node:path";

export interface CommandClass {
  readonly programs: readonly string[];
  readonly deletes: readonly string[];
  readonly network: readonly string[];
  /** shell texts within it */
  readonly scripts: readonly string[];
  readonly isDynamic: boolean;
}

type Words = readonly (string | undefined)[];

/** programs that run the rest of their words, with the number of words of their own that come first */
const carriers: Readonly<Record<string, number>> = {
  ...{ command: 0, doas: 0, env: 0, exec: 0, ionice: 0, nice: 0, nohup: 0, setsid: 0, stdbuf: 0, sudo: 0 },
  ...{ time: 0, timeout: 1, xargs: 0, unshare: 0 },
};
const shells: ReadonlySet<string> = new Set(["ash", "bash", "dash", "ksh", "sh", "zsh"]);
const removers: ReadonlySet<string> = new Set(["rm", "rmdir", "shred", "truncate", "unlink"]);
const callers: ReadonlySet<string> = new Set([
  ...["curl", "wget", "nc", "ncat", "netcat", "socat", "telnet", "ftp", "sftp", "ssh", "scp", "rsync"],
  ...["dig", "host", "nslookup", "ping", "traceroute", "aria2c", "http", "https"],
]);
/** programs that go to the network for some of their first words */
const callersBy: Readonly<Record<string, readonly string[]>> = {
  git: ["clone", "fetch", "ls-remote", "pull", "push", "submodule"],
  npm: ["add", "ci", "exec", "i", "install", "publish", "update"],
  pnpm: ["add", "dlx", "i", "install", "publish", "update"],
  yarn: ["add", "dlx", "install", "publish"],
  pip: ["download", "install"],
  pip3: ["download", "install"],
  uv: ["add", "pip", "sync"],
  cargo: ["add", "fetch", "install", "publish", "update"],
  go: ["get", "install", "mod"],
  apt: ["full-upgrade", "install", "update", "upgrade"],
  "apt-get": ["dist-upgrade", "install", "update", "upgrade"],
  docker: ["build", "login", "pull", "push", "run"],
  gem: ["install"],
};

const nothing: CommandClass = { programs: [], deletes: [], network: [], scripts: [], isDynamic: false };
const carriedMax = 8;

export function classifyCommand(words: Words, depth = 0): CommandClass {
  const [first, ...rest] = words;
  if (first === undefined) return { ...nothing, isDynamic: words.length > 0 };
  const name = basename(first);
  const known = rest.filter((word) => word !== undefined);
  const plain = known.filter((word) => !word.startsWith("-"));
  const own: CommandClass = {
    programs: [name],
    deletes: findDeletes(name, known, plain),
    network: findNetwork(name, known, plain),
    scripts: findScripts(name, known),
    isDynamic: ["eval", "source", "."].includes(name) || (shells.has(name) && rest.length > known.length),
  };
  const skipped = Object.hasOwn(carriers, name) ? carriers[name] : undefined;
  if (skipped === undefined || depth >= carriedMax) return own;
  const carried = classifyCommand(dropOptions(rest).slice(skipped), depth + 1);
  return {
    programs: [...own.programs, ...carried.programs],
    deletes: carried.deletes,
    network: [...own.network, ...carried.network],
    scripts: carried.scripts,
    isDynamic: own.isDynamic || carried.isDynamic,
  };
}

/** Options and `NAME=value` in front of a carried command. */
function dropOptions(words: Words): Words {
  const at = words.findIndex((word) => word === undefined || !/^(?:-|[A-Za-z_]\w*=)/u.test(word));
  return at < 0 ? [] : words.slice(at);
}

function findDeletes(name: string, known: readonly string[], plain: readonly string[]): readonly string[] {
  if (removers.has(name)) return plain.length > 0 ? plain : [name];
  if (name === "find" && known.includes("-delete")) return [plain[0] ?? "."];
  if (name === "mv") return plain.slice(0, -1);
  if (name === "dd") return known.flatMap((word) => (word.startsWith("of=") ? [word.slice(3)] : []));
  const isGit =
    name === "git" && (plain[0] === "clean" || (plain[0] === "reset" && known.includes("--hard")));
  return isGit ? ["."] : [];
}

function findNetwork(name: string, known: readonly string[], plain: readonly string[]): readonly string[] {
  const urls = known.flatMap((word) => /(?:https?|ftp|ssh|git|wss?):\/\/[^\s'"]+/u.exec(word)?.[0] ?? []);
  if (callers.has(name)) return urls.length > 0 ? urls : [plain[0] ?? name];
  const isCall = (Object.hasOwn(callersBy, name) ? (callersBy[name] ?? []) : []).some((verb) =>
    plain.includes(verb),
  );
  return isCall && urls.length === 0 ? [name] : urls;
}

function findScripts(name: string, known: readonly string[]): readonly string[] {
  if (name === "eval") return [known.join(" ")];
  if (!shells.has(name)) return [];
  const at = known.findIndex((word) => /^-[a-z]*c$/u.test(word));
  const script = at < 0 ? undefined : known[at + 1];
  return script === undefined ? [] : [script];
}
