/** A sound example of each procedure of session shells, tmux sessions and the policy. Commands end at once. */
import type { JsonObject } from "@sand/protocol";

const session = { sessionId: "fuzz-shell" };

export const shellBodies: Readonly<Record<string, JsonObject>> = {
  "Shells/Create": { ...session, shell: "bash", cwd: "", login: false, keepErrexit: true },
  "Shells/Run": {
    ...{ ...session, processId: "fuzz-run", command: "exit 3", env: { FUZZ: "1" } },
    ...{ conversationEnv: { FUZZ_TOO: "1" }, unset: ["FUZZ_NOT"], stdin: false, background: false },
    ...{ detach: false, killMs: 1000, lineage: { agentId: "a", turnId: "t" }, waitMs: 100, settleMs: 10 },
  },
  "Shells/Get": { ...session, waitMs: 100 },
  "Shells/List": {},
  "Shells/End": session,
  "Tmux/Create": { name: "fuzz", argv: ["true", "x"], cwd: "", env: { FUZZ: "1" }, cols: 80, rows: 24 },
  "Tmux/List": {},
  "Tmux/Kill": { name: "fuzz" },
};

export const policyBodies: Readonly<Record<string, JsonObject>> = {
  "Policy/Explain": { executor: "shell" },
  "Policy/Advise": { command: "echo a > b && rm c; curl http://127.0.0.1:9" },
};
