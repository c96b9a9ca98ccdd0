/** Commands through the unmodified SDK: what they print, how they end, where and as whom they run. */
import {
  AuthenticationError,
  CommandExitError,
  InvalidArgumentError,
  NotFoundError,
  TimeoutError,
} from "e2b";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { type E2bBox, slowMs, startE2bBox, until } from "./e2b-box.ts";

vi.setConfig({ testTimeout: slowMs, hookTimeout: slowMs });

let box: E2bBox;
beforeAll(async () => {
  box = await startE2bBox();
});
afterAll(() => box.dispose());

const run = (text: string, options: object = {}) => box.sandbox.commands.run(text, options);

async function failure(text: string, options: object = {}): Promise<CommandExitError> {
  const error: unknown = await run(text, options).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof CommandExitError)) throw new Error(`it didn't fail as a command: ${String(error)}`);
  return error;
}

describe("what a command prints", () => {
  test("standard output and standard error come apart, with the code 0", async () => {
    expect(await run("echo out; echo err >&2")).toEqual({
      ...{ exitCode: 0, error: undefined, stdout: "out\n", stderr: "err\n" },
    });
  });

  test("nothing printed is an empty text", async () => {
    expect(await run("true")).toMatchObject({ exitCode: 0, stdout: "", stderr: "" });
  });

  test("text outside of ASCII arrives as it was", async () => {
    expect((await run("printf 'päivää 你好 🦀'")).stdout).toBe("päivää 你好 🦀");
  });

  test("a character that is torn over two writes is put together", async () => {
    const { stdout } = await run(String.raw`printf '\xe4\xbd'; sleep 0.2; printf '\xa0'`);
    expect(stdout).toBe("你");
  });

  test("no character is lost or added in 50,000", async () => {
    const { stdout } = await run("head -c 50000 /dev/zero | sed 's/\\x0/你/g'");
    expect(stdout.length).toBe(50_000);
    expect(stdout.replaceAll("你", "")).toBe("");
  });

  test("bytes that are no text don't break the stream", async () => {
    expect((await run(String.raw`printf 'a\xff\xfeb'`)).stdout).toBe("a\u{fffd}\u{fffd}b");
  });

  test("special characters of a shell are the command's own", async () => {
    expect((await run(`echo '$HOME "x" \`y\`' \\\\`)).stdout).toBe('$HOME "x" `y` \\\n');
  });

  test("several lines are one command", async () => {
    expect((await run("a=1\nb=2\necho $((a + b))")).stdout).toBe("3\n");
  });

  test("a here document is read", async () => {
    expect((await run("cat <<'X'\n$a\nX")).stdout).toBe("$a\n");
  });

  test("three megabytes arrive whole", async () => {
    const { stdout } = await run("seq 1 400000");
    expect(stdout.length).toBe(2_688_895);
    expect(stdout.endsWith("\n399999\n400000\n")).toBe(true);
  });

  test("output is told while the command runs, before it ends", async () => {
    const seen: string[] = [];
    const handle = await box.sandbox.commands.run("echo first; read x; echo $x", {
      ...{ background: true, stdin: true },
      onStdout: (text) => void seen.push(text),
    });
    await until("the first line is told", () => (seen.join("") === "first\n" ? true : undefined));
    await handle.sendStdin("second\n");
    expect((await handle.wait()).stdout).toBe("first\nsecond\n");
  });

  test("both streams have their own listener", async () => {
    const [out, err]: [string[], string[]] = [[], []];
    await run("echo o; echo e >&2", {
      onStdout: (text: string) => void out.push(text),
      onStderr: (text: string) => void err.push(text),
    });
    expect([out.join(""), err.join("")]).toEqual(["o\n", "e\n"]);
  });

  test("a very short command never ends before its output", async () => {
    const texts = await Promise.all(Array.from({ length: 20 }, (_, n) => run(`echo ${n}`)));
    expect(texts.map((result) => result.stdout)).toEqual(Array.from({ length: 20 }, (_, n) => `${n}\n`));
  });
});

describe("how a command ends", () => {
  test.each([
    ["a code", "exit 3", 3, "exit status 3"],
    ["the largest code", "exit 255", 255, "exit status 255"],
    ["a program that isn't there", "no-such-program-here", 127, "exit status 127"],
    ["a program that may not be run", "touch plain && ./plain", 126, "exit status 126"],
    ["a syntax error", "if then", 2, "exit status 2"],
  ])("%s is told as it is", async (_what, text, code, words) => {
    const error = await failure(text);
    expect([error.exitCode, error.error]).toEqual([code, words]);
  });

  test("a signal is no code, and is told by its name", async () => {
    const error = await failure("kill -9 $$");
    expect([error.exitCode, error.error]).toEqual([-1, "signal: killed"]);
  });

  test("a command that ends itself by TERM is told so", async () => {
    expect((await failure("kill $$")).error).toBe("signal: terminated");
  });

  test("a failed command has its output all the same", async () => {
    const error = await failure("echo before; echo why >&2; exit 1");
    expect([error.stdout, error.stderr]).toEqual(["before\n", "why\n"]);
  });

  test("what it leaves running in the background doesn't hold it up", async () => {
    const startedMs = Date.now();
    expect((await run("sleep 60 > /dev/null 2>&1 & echo done")).stdout).toBe("done\n");
    expect(Date.now() - startedMs).toBeLessThan(30_000);
  });

  test("something that keeps its output open doesn't hold it up for ever", async () => {
    const { stdout } = await run("sleep 50 & echo done");
    expect(stdout).toBe("done\n");
  });

  test("fifty commands at once have fifty right ends", async () => {
    const codes = await Promise.all(
      Array.from({ length: 50 }, async (_, n) =>
        n % 7 === 0 ? 0 : (await failure(`exit ${n % 7}`)).exitCode,
      ),
    );
    expect(codes).toEqual(Array.from({ length: 50 }, (_, n) => n % 7));
  });
});

describe("where a command runs", () => {
  test("without a folder it is the home", async () => {
    expect((await run("pwd")).stdout).toBe(`${box.home}\n`);
  });

  test.each([
    ["an absolute folder", () => box.folder, () => box.folder],
    ["one beneath the home", () => "made/here", () => `${box.home}/made/here`],
    ["the home by its sign", () => "~", () => box.home],
    ["one beneath the home by its sign", () => "~/made", () => `${box.home}/made`],
    ["one with dots", () => "made/../made/here/..", () => `${box.home}/made`],
  ])("%s is where it runs", async (_what, cwd, expected) => {
    await box.sandbox.files.makeDir("made/here");
    expect((await run("pwd", { cwd: cwd() })).stdout).toBe(`${expected()}\n`);
  });

  test("a folder that isn't there is an invalid argument", async () => {
    await expect(run("pwd", { cwd: "/no/such/folder" })).rejects.toThrow(InvalidArgumentError);
  });

  test("a file is no folder to run in", async () => {
    await box.sandbox.files.write("file-for-cwd", "x");
    await expect(run("pwd", { cwd: "file-for-cwd" })).rejects.toThrow(InvalidArgumentError);
  });
});

describe("a command's variables", () => {
  test("those of the call are set", async () => {
    expect((await run('echo "$A-$B"', { envs: { A: "1", B: "two words" } })).stdout).toBe("1-two words\n");
  });

  test("those of one call aren't there in the next", async () => {
    await run("true", { envs: { ONLY_HERE: "1" } });
    expect((await run('echo "[$ONLY_HERE]"')).stdout).toBe("[]\n");
  });

  test("home and name are those of the account that clients know", async () => {
    expect((await run('echo "$HOME $USER $LOGNAME"')).stdout).toBe(`${box.home} user user\n`);
  });

  test("a name that no shell can use is an invalid argument", async () => {
    await expect(run("true", { envs: { "A=B": "1" } })).rejects.toThrow(InvalidArgumentError);
  });

  test("the token is in no variable and no argument that a command can see", async () => {
    const { stdout } = await run("cat /proc/self/environ; env; cat /proc/[0-9]*/cmdline 2>/dev/null; true");
    expect(stdout).not.toContain("planted-e2b-token");
  });
});

describe("as whom a command runs", () => {
  test.each(["user", "root"])("the account here is known as %s", async (user) => {
    expect((await run("echo here", { user })).stdout).toBe("here\n");
  });

  test("another account is refused, as one that isn't known", async () => {
    await expect(run("true", { user: "nobody-knows" })).rejects.toThrow(AuthenticationError);
  });
});

describe("time limits", () => {
  test("a command that takes longer than its limit is a timeout", async () => {
    await expect(run("sleep 30", { timeoutMs: 600 })).rejects.toThrow(TimeoutError);
  });

  test("after a timeout nothing of the command runs on, whatever group it is in", async () => {
    const text = "setsid sleep 4321 & sleep 4321";
    await expect(run(text, { timeoutMs: 1000 })).rejects.toThrow(TimeoutError);
    await until("all of it has ended", async () =>
      (await run("pgrep -x -f 'sleep 4321' || echo none")).stdout === "none\n" ? true : undefined,
    );
  });

  test("a command that doesn't listen to TERM is ended all the same", async () => {
    await expect(run("trap '' TERM; sleep 4322 & wait", { timeoutMs: 800 })).rejects.toThrow(TimeoutError);
    await until("it has ended", async () =>
      (await run("pgrep -x -f 'sleep 4322' || echo none")).stdout === "none\n" ? true : undefined,
    );
  });

  test("without a limit a command runs on", async () => {
    expect((await run("sleep 1; echo done", { timeoutMs: 0 })).stdout).toBe("done\n");
  });

  test("a background command has the limit that was given, also when its client has left", async () => {
    const handle = await box.sandbox.commands.run("sleep 4323", { background: true, timeoutMs: 1500 });
    await handle.disconnect();
    await until("it has ended", async () =>
      (await run("pgrep -x -f 'sleep 4323' || echo none")).stdout === "none\n" ? true : undefined,
    );
  });
});

describe("wrong questions", () => {
  test("a signal for a process that isn't there finds nobody", async () => {
    expect(await box.sandbox.commands.kill(999_999_999)).toBe(false);
  });

  test("a process that isn't there can't be connected to", async () => {
    await expect(box.sandbox.commands.connect(999_999_999)).rejects.toThrow(NotFoundError);
  });

  test("a process of this machine that isn't ours is nobody's to end", async () => {
    expect(await box.sandbox.commands.kill(process.pid)).toBe(false);
  });

  test("input for a process that isn't there is refused", async () => {
    await expect(box.sandbox.commands.sendStdin(999_999_999, "x")).rejects.toThrow(NotFoundError);
  });
});
