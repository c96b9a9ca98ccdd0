/**
 * A sound example of each thing that the E2B surface takes. Programs end at once; what removes or moves is confined;
 * the token and the default folder are never changed.
 */
import type { JsonObject } from "@sand/protocol";
import type { FuzzTarget } from "./fuzz-target.ts";

const process = { tag: "fuzz" };

const procedures: Readonly<Record<string, JsonObject>> = {
  "process.Process/List": {},
  "process.Process/Start": {
    ...{ process: { cmd: "true", args: ["x"], envs: { FUZZ: "1" }, cwd: "" }, tag: "fuzz" },
    ...{ stdin: false, pty: { size: { cols: 80, rows: 24 } } },
  },
  "process.Process/Connect": { process },
  "process.Process/Update": { process, pty: { size: { cols: 80, rows: 24 } } },
  "process.Process/StreamInput": { start: { process } },
  "process.Process/SendInput": { process, input: { stdin: "aGk=" } },
  "process.Process/SendSignal": { process, signal: "SIGNAL_SIGTERM" },
  "process.Process/CloseStdin": { process },
  "filesystem.Filesystem/Stat": { path: "fuzzed.txt" },
  "filesystem.Filesystem/MakeDir": { path: "fuzz-made" },
  "filesystem.Filesystem/ListDir": { path: "fuzz-made", depth: 1 },
  "filesystem.Filesystem/WatchDir": { path: "fuzz-made", recursive: true, includeEntry: true },
  "filesystem.Filesystem/CreateWatcher": { path: "fuzz-made", recursive: false },
  "filesystem.Filesystem/GetWatcherEvents": { watcherId: "fuzz-absent" },
  "filesystem.Filesystem/RemoveWatcher": { watcherId: "fuzz-absent" },
  "filesystem.Filesystem/Move": { source: "fuzz-moved", destination: "fuzz-there" },
  "filesystem.Filesystem/Remove": { path: "fuzz-removed" },
};

const confined = ["filesystem.Filesystem/Move", "filesystem.Filesystem/Remove"];
const streamed = [
  ...["process.Process/Start", "process.Process/Connect", "process.Process/StreamInput"],
  "filesystem.Filesystem/WatchDir",
];

const routes: readonly (readonly [method: string, path: string, body?: JsonObject])[] = [
  ["GET", "/health"],
  ["GET", "/metrics"],
  ["GET", "/envs"],
  ["POST", "/init", { envVars: { FUZZ: "1" }, timestamp: "2026-01-01T00:00:00Z", caBundle: "zq" }],
  ["GET", "/files?path=fuzzed.txt"],
  ["HEAD", "/files?path=fuzzed.txt"],
  ["GET", "/files?path=fuzzed.txt&signature=v1_zq&signature_expiration=9999999999"],
  ["POST", "/files?path=fuzzed.txt", {}],
  ["OPTIONS", "/files"],
];
const compose = { source_paths: ["fuzz-part"], destination: "fuzz-whole" };

export function e2bTargets(): readonly FuzzTarget[] {
  const shared = { server: "e2b", isOpenEnded: false } as const;
  return [
    ...Object.entries(procedures).map(
      ([name, body]): FuzzTarget => ({
        ...{ ...shared, name, method: "POST", path: `/${name}`, body },
        isOpenEnded: streamed.includes(name),
        isStreamed: streamed.includes(name),
        isConfined: confined.includes(name),
      }),
    ),
    ...routes.map(
      ([method, path, body]): FuzzTarget => ({
        ...{ ...shared, name: `e2b: ${method} ${path}`, method, path, body },
      }),
    ),
    {
      ...{ ...shared, name: "e2b: POST /files/compose", method: "POST", path: "/files/compose" },
      ...{ body: compose, isConfined: true },
    },
  ];
}
