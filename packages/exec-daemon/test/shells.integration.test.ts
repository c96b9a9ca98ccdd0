import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { Code, ConnectError } from "@connectrpc/connect";
import { ExecutionState } from "@sand/protocol/exec";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "./daemon-process.ts";
import { type ShellsWorld, startShellsWorld } from "./shells-world.ts";

let world: ShellsWorld;
beforeAll(async () => {
  world = await startShellsWorld();
});
afterAll(() => world.daemon.dispose());

async function failureOf(work: Promise<unknown>): Promise<{ code: Code; sand: string | null }> {
  const error = ConnectError.from(
    await work.then(
      () => undefined,
      (thrown: unknown) => thrown,
    ),
  );
  return { code: error.code, sand: error.metadata.get("x-sand-code") };
}

const isZshRequired = process.env.SAND_TEST_REQUIRE?.split(",").includes("zsh") ?? false;
const hasZsh = isZshRequired || existsSync("/usr/bin/zsh") || existsSync("/bin/zsh");
const hasPwsh = ["/usr/bin/pwsh", "/opt/microsoft/powershell/7/pwsh"].some((path) => existsSync(path));

describe.each([
  ["bash", true, "shopt -s extglob", "shopt -q extglob"],
  // As a package of Debian; where it isn't installed nor required there is nothing to test.
  ["zsh", hasZsh, "setopt extendedglob", "[[ -o extendedglob ]]"],
])("%s", (shell, isInstalled, setOption, askOption) => {
  test.skipIf(!isInstalled)(
    "a command begins with the folder, variables, functions, aliases, options and arguments of the one before",
    async () => {
      const id = await world.create(shell);
      const begin = [
        "mkdir -p deep/er; cd deep/er; umask 027",
        `export EXPORTED='two  words'; plain=$'line\\nbreak'; list=(a 'b c'); typeset -A map; map[k]=v`,
        'greet() { printf "<%s>" "$1"; }; alias shout="printf LOUD"',
        `${setOption}; set -- first 'second one'`,
      ].join("\n");
      expect(await world.run(id, begin)).toMatchObject({ stdout: "", stderr: "", exited: { code: 0 } });
      const look = [
        'printf "%s|" "${PWD##*/}" "$(umask)" "$(printenv EXPORTED)" "$plain" "${#list[@]}" "${map[k]}" "$#" "$2"',
        `greet you; shout; ${askOption} && printf ' kept'`,
      ].join("\n");
      const ran = await world.run(id, look);
      expect(ran.stderr).toBe("");
      expect(ran.stdout.replaceAll("|0027|", "|027|")).toBe(
        "er|027|two  words|line\nbreak|2|v|2|second one|<you>LOUD kept",
      );
      expect(ran.session).toMatchObject({ cwd: join(world.daemon.workspace, "deep/er"), shell });
    },
  );

  test.skipIf(!isInstalled)(
    "what is unset stays unset, also what the daemon starts commands with",
    async () => {
      const id = await world.create(shell);
      await world.run(id, "kept=1; gone=1; f() { :; }; alias a=true");
      await world.run(id, "unset gone LANG; unset -f f; unalias a");
      const { stdout } = await world.run(
        id,
        'echo "${kept-no} ${gone-no} ${LANG-no}"; type f a 2>/dev/null | grep -c function',
      );
      expect(stdout).toBe("1 no no\n0\n");
    },
  );

  test.skipIf(!isInstalled)("row 22: exit and set -e end the command, not the session", async () => {
    const id = await world.create(shell);
    const left = await world.run(id, "cd /; before=1; exit 7; before=2");
    expect(left).toMatchObject({ exited: { code: 7 }, session: { last: { stateKept: true } } });
    const failed = await world.run(id, "set -e; at=here; false; at=never");
    expect(failed.exited?.code).toBe(1);
    const { stdout, exited } = await world.run(id, 'false; echo "$PWD $before $at"');
    expect({ stdout, code: exited?.code }).toEqual({ stdout: "/ 1 here\n", code: 0 });
  });

  test.skipIf(!isInstalled)(
    "row 27: an option that would keep the next command from running isn't kept",
    async () => {
      const id = await world.create(shell);
      await world.run(id, shell === "bash" ? "set -t" : "setopt singlecommand");
      await world.run(id, "set -n");
      expect((await world.run(id, "echo one\necho two")).stdout).toBe("one\ntwo\n");
    },
  );

  test.skipIf(!isInstalled)(
    "row 27: functions and whatever a state holds never come out of a command",
    async () => {
      const id = await world.create(shell);
      await world.run(id, "noisy() { echo noise; }; readonly fixed=1; set -x");
      const ran = await world.run(id, "set +x 2>/dev/null; :");
      expect(ran.stdout).toBe("");
      const after = await world.run(id, ":");
      expect({ out: after.stdout, err: after.stderr }).toEqual({ out: "", err: "" });
    },
  );

  test.skipIf(!isInstalled)(
    "row 23: no prompt, hook or function of a user breaks the end of a command",
    async () => {
      const id = await world.create(shell);
      const hostile = [
        "printf",
        "echo",
        "cd",
        "eval",
        "exit",
        "return",
        "set",
        "declare",
        "typeset",
        "trap",
        "unset",
        "pwd",
        "shift",
      ];
      await world.run(
        id,
        "PROMPT_COMMAND='echo prompt; exit 9'; PS1='$(exit 9)'; PS4=zzz; value=before; cd /usr",
      );
      await world.run(
        id,
        hostile.map((name) => `${name}() { command ls /nonexistent 2>/dev/null; return 3; }`).join("\n"),
      );
      const { stdout, session } = await world.run(id, "value=after; builtin echo $value; builtin pwd");
      expect({ stdout, last: session.last?.stateKept }).toEqual({ stdout: "after\n/usr\n", last: true });
      expect((await world.run(id, "builtin echo $value")).stdout).toBe("after\n");
    },
  );

  test.skipIf(!isInstalled)(
    "row 20: heredocs, also unclosed ones, and input of their own don't hang a session",
    async () => {
      const id = await world.create(shell);
      expect((await world.run(id, "cat <<'END'\n$HOME `x`\nEND")).stdout).toBe("$HOME `x`\n");
      expect((await world.run(id, "cat <<END\nnever closed")).stdout).toContain("never closed");
      expect((await world.run(id, 'cat; read line; echo "got:$line"')).stdout).toBe("got:\n");
      const processId = `stdin-${shell}`;
      await world.shells.run({ sessionId: id, processId, command: "read line; kept=$line", stdin: true });
      await world.daemon.processes.write({ processId, offset: 0n, data: Buffer.from("typed\n") });
      await world.shells.get({ sessionId: id, waitMs: 20_000 });
      expect((await world.run(id, "echo $kept")).stdout).toBe("typed\n");
    },
  );

  test.skipIf(!isInstalled)(
    "row 20: a command that becomes another program or is killed leaves the session as it was, and says so",
    async () => {
      const id = await world.create(shell);
      await world.run(id, "kept=1");
      const replaced = await world.run(id, "kept=2; exec echo other");
      expect(replaced).toMatchObject({ stdout: "other\n", session: { last: { stateKept: false } } });
      expect(replaced.session.last?.reason).toContain("became another program");
      const killed = await world.run(id, "kept=3; kill -9 $$");
      expect(killed).toMatchObject({
        exited: { signal: "SIGKILL" },
        session: { last: { stateKept: false } },
      });
      expect((await world.run(id, "echo $kept")).stdout).toBe("1\n");
    },
  );

  test.skipIf(!isInstalled)(
    "a command that traps its end keeps its trap to itself, and its state for the session",
    async () => {
      const id = await world.create(shell);
      const ran = await world.run(id, "trap 'echo bye' EXIT; kept=1");
      expect(ran).toMatchObject({ stdout: "bye\n", session: { last: { stateKept: true } } });
      expect((await world.run(id, "echo $kept")).stdout).toBe("1\n");
    },
  );

  test.skipIf(!isInstalled)(
    "what a conversation had from the server is not the next one's, whatever the session remembers",
    async () => {
      const id = await world.create(shell);
      const first = { conversationEnv: { CONVERSATION: "first", ONLY_FIRST: "1" }, env: { CALL: "mine" } };
      const forge =
        "export CONVERSATION=forged ONLY_FIRST=forged CALL=forged LATER=forged; readonly CONVERSATION LATER; own=1";
      await world.run(id, `printf "%s" "$CONVERSATION $ONLY_FIRST $CALL"; ${forge}`, first);
      const look =
        'printf "%s|" "$CONVERSATION" "${ONLY_FIRST-unset}" "${CALL-unset}" "$LATER" "$own"; LATER=x && printf ok';
      const second = await world.run(id, look, {
        conversationEnv: { CONVERSATION: "second", LATER: "server" },
      });
      expect(second.stdout).toBe("second|unset|unset|server|1|ok");
      expect((await world.run(id, 'printf "%s" "${CONVERSATION-unset} ${LATER-unset} $own"')).stdout).toBe(
        "unset unset 1",
      );
    },
  );

  test.skipIf(!isInstalled)(
    "a variable that a call sets for itself is the session's own again afterwards; one to be unset is gone",
    async () => {
      const id = await world.create(shell);
      await world.run(id, "export MINE=session OTHER=1");
      expect((await world.run(id, "printenv MINE; MINE=changed", { env: { MINE: "call" } })).stdout).toBe(
        "call\n",
      );
      expect((await world.run(id, "printenv MINE; echo ${OTHER-unset}", { unset: ["OTHER"] })).stdout).toBe(
        "session\nunset\n",
      );
    },
  );
});

test.skipIf(!hasPwsh)(
  "PowerShell keeps folder, environment, variables and functions (skipped where it isn't installed: Debian has no package of it)",
  async () => {
    const id = await world.create("pwsh");
    await world.run(id, "Set-Location /usr; $env:A = 'x y'; $v = 5; function greet($n) { \"hi $n\" }");
    const { stdout } = await world.run(id, '"$PWD $env:A $v"; greet you');
    expect(stdout).toBe("/usr x y 5\nhi you\n");
  },
);

test("variables and the environment of the box are the server's: a session can't keep an old one", async () => {
  const id = await world.create();
  await world.daemon.control.refreshEnvironment({ set: { BOX_ENDPOINT: "one" } });
  await world.daemon.control.syncSecrets({ scope: "commands", values: { BOX_SECRET: "s1" } });
  expect(
    (await world.run(id, "echo $BOX_ENDPOINT $BOX_SECRET; export BOX_ENDPOINT=forged BOX_SECRET=forged"))
      .stdout,
  ).toBe("one s1\n");
  await world.daemon.control.refreshEnvironment({ set: { BOX_ENDPOINT: "two" } });
  await world.daemon.control.syncSecrets({ scope: "commands", values: {} });
  expect((await world.run(id, "echo $BOX_ENDPOINT ${BOX_SECRET-none}")).stdout).toBe("two none\n");
  await world.daemon.control.refreshEnvironment({ unset: ["BOX_ENDPOINT"] });
  expect((await world.run(id, "echo ${BOX_ENDPOINT-none}")).stdout).toBe("none\n");
});

test("two commands of one session at once: refused with a code, or in their order for who waits", async () => {
  const id = await world.create();
  await world.shells.run({
    sessionId: id,
    processId: "long",
    command: "read line; order=first",
    stdin: true,
  });
  const second = { sessionId: id, processId: "second", command: "echo ${order}-second" };
  expect(await failureOf(world.shells.run(second))).toEqual({
    code: Code.FailedPrecondition,
    sand: "exec/session-busy",
  });
  const waiting = world.shells.run({ ...second, waitMs: 20_000 });
  await world.daemon.processes.closeStdin({ processId: "long" });
  await waiting;
  const again = await world.run(id, second.command, { processId: "second" });
  expect(again.stdout).toBe("first-second\n");
});

test("a repeated call is the same command, also when the session has moved on; another body is a conflict", async () => {
  const id = await world.create();
  const request = {
    sessionId: id,
    processId: "repeat",
    command: "echo run >> runs; n=$((n + 1))",
    waitMs: 20_000,
  };
  const answers = await Promise.all(Array.from({ length: 10 }, () => world.shells.run(request)));
  expect(new Set(answers.map(({ execution }) => execution?.pid)).size).toBe(1);
  await world.run(id, "n=$((n + 10))");
  expect((await world.shells.run(request)).existing).toBe(true);
  expect((await world.run(id, "cat runs; echo $n")).stdout).toBe("run\n11\n");
  expect((await failureOf(world.shells.run({ ...request, command: "other" }))).sand).toBe(
    "exec/key-conflict",
  );
});

test("what there isn't is a typed answer: sessions, shells, folders, names", async () => {
  expect((await failureOf(world.shells.run({ sessionId: "none", processId: "p", command: ":" }))).sand).toBe(
    "exec/unknown-session",
  );
  expect((await failureOf(world.shells.get({ sessionId: "none" }))).sand).toBe("exec/unknown-session");
  symlinkSync("circle", join(world.daemon.workspace, "circle"));
  for (const cwd of ["missing", "circle", "z".repeat(1_000)])
    expect((await failureOf(world.shells.create({ sessionId: "x", cwd }))).sand).toBe("exec/invalid");
  expect((await failureOf(world.shells.create({ sessionId: "x", shell: "fish" }))).sand).toBe("exec/invalid");
  expect((await failureOf(world.shells.create({ sessionId: "x", cwd: "nowhere" }))).sand).toBe(
    "exec/invalid",
  );
  expect(await world.shells.end({ sessionId: "none" })).toMatchObject({ existed: false });
  const id = await world.create();
  expect((await failureOf(world.shells.run({ sessionId: id, processId: "p1", command: "" }))).sand).toBe(
    "exec/invalid",
  );
  expect(
    (await failureOf(world.shells.run({ sessionId: id, processId: "p2", command: ":", unset: ["a b"] })))
      .sand,
  ).toBe("exec/invalid");
});

test("a folder that is gone is said, and the command runs in the workspace", async () => {
  mkdirSync(join(world.daemon.workspace, "short-lived"));
  const id = await world.create("bash", { cwd: "short-lived" });
  await world.run(id, "pwd");
  rmdirSync(join(world.daemon.workspace, "short-lived"));
  const ran = await world.run(id, "pwd");
  expect(ran.stdout).toBe(`${world.daemon.workspace}\n`);
  expect(ran.stderr).toContain("is gone");
});

test("errexit is kept from one command to the next only where the session is made so", async () => {
  const id = await world.create("bash", { keepErrexit: true });
  await world.run(id, "set -e");
  expect((await world.run(id, "false; echo never")).stdout).toBe("");
});

describe("row 26: the end of a session", () => {
  test("ends what runs and what was left behind, and nothing that is detached", async () => {
    // Other tests sleep as well: these are known by times that nobody else chooses.
    const [left, away, ended, kept, front] = [1, 2, 3, 4, 5].map(
      (digit) => `${1_000_000 + process.pid}.${digit}`,
    );
    const id = await world.create();
    await world.run(
      id,
      `sleep ${left} >/dev/null 2>&1 & echo $! > left; setsid sleep ${away} >/dev/null 2>&1 & echo $! > away`,
    );
    await world.run(id, "true", { processId: "nothing-left" });
    await world.shells.run({
      sessionId: id,
      processId: "bg",
      command: `trap '' TERM; sleep ${ended}`,
      background: true,
    });
    await world.shells.run({
      sessionId: id,
      processId: "kept",
      command: `sleep ${kept}`,
      background: true,
      detach: true,
    });
    await world.shells.run({ sessionId: id, processId: "fg", command: `sleep ${front}` });
    const answer = await world.shells.end({ sessionId: id });
    expect(answer.existed).toBe(true);
    expect(answer.endedProcessIds).toEqual(expect.arrayContaining(["bg", "fg"]));
    expect(answer.endedProcessIds).not.toContain("nothing-left");
    expect(answer.detachedProcessIds).toEqual(["kept"]);
    expect(findSleeps([left, away, ended, front])).toEqual([]);
    expect(findSleeps([kept])).toEqual([kept]);
    await world.daemon.processes.signal({ processId: "kept", name: "SIGKILL", scope: 2 });
    expect((await failureOf(world.shells.get({ sessionId: id }))).sand).toBe("exec/unknown-session");
  });

  test("row 22: a detached command goes on without its session, and is found by its id", async () => {
    const id = await world.create();
    await world.shells.run({
      sessionId: id,
      processId: "daemon",
      command: "sleep 1005",
      background: true,
      detach: true,
    });
    await world.shells.end({ sessionId: id });
    const { executions } = await world.daemon.processes.list({});
    expect(executions.find(({ processId }) => processId === "daemon")?.state).toBe(ExecutionState.RUNNING);
    await world.daemon.processes.signal({ processId: "daemon", name: "SIGKILL", scope: 2 });
  });

  test("row 24: a command in the background has no terminal and no input that could stop it", async () => {
    const id = await world.create();
    const ran = await world.run(
      id,
      "(cat; echo read) & wait; ps -o stat= -p $$ | grep -c T; [ -e /dev/tty ] && (: </dev/tty) 2>/dev/null || echo none",
    );
    expect(ran.stdout).toBe("read\n0\nnone\n");
  });
});

function findSleeps(durations: readonly (string | undefined)[]): readonly (string | undefined)[] {
  return durations.filter((duration) => commandLines().some((line) => line === `sleep\0${duration}\0`));
}

function commandLines(): readonly string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/u.test(name))
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "latin1");
      } catch {
        return "";
      }
    });
}

test("a login's environment is read once, without input and without its output", async () => {
  writeFileSync(
    join(world.daemon.folder, ".bash_profile"),
    "echo read >> ~/logins; echo noise; cat; export FROM_LOGIN=1; not_exported=1\n",
  );
  const [first, second] = [
    await world.create("bash", { login: true }),
    await world.create("bash", { login: true }),
  ];
  const ran = await world.run(first, "echo $FROM_LOGIN ${not_exported-none}; FROM_LOGIN=changed");
  expect(ran.stdout).toBe("1 none\n");
  expect((await world.run(second, "echo $FROM_LOGIN")).stdout).toBe("1\n");
  expect((await world.run(first, "echo $FROM_LOGIN")).stdout).toBe("changed\n");
  expect(readFileSync(join(world.daemon.folder, "logins"), "utf8")).toBe("read\n");
  const { executions } = await world.daemon.processes.list({});
  expect(executions.filter(({ processId }) => processId.startsWith("shell-login"))).toEqual([]);
});

test("a session and the state of the command that ran go on after the daemon was killed", async () => {
  const own = await startShellsWorld();
  let last = own;
  try {
    const id = await own.create();
    await own.run(id, "kept=1; cd /usr");
    await own.shells.run({
      sessionId: id,
      processId: "over",
      command: 'read line; kept="$kept $line"',
      stdin: true,
    });
    await own.daemon.kill();
    last = await own.again();
    expect((await last.shells.get({ sessionId: id })).session).toMatchObject({
      runningProcessId: "over",
      cwd: "/usr",
    });
    await last.daemon.processes.write({ processId: "over", offset: 0n, data: Buffer.from("later\n") });
    await until("the command ends", async () => {
      const { session } = await last.shells.get({ sessionId: id, waitMs: 1000 });
      return session?.runningProcessId === "" || undefined;
    });
    expect((await last.run(id, 'echo "$kept $PWD"')).stdout).toBe("1 later /usr\n");
  } finally {
    await last.daemon.dispose();
  }
});
