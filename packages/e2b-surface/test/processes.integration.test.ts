/** Background commands and terminals through the unmodified SDK: list, connect, input, end; and what outlives what. */
import { createHash } from "node:crypto";
import { NotFoundError, SandboxError, TimeoutError } from "e2b";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { type E2bBox, slowMs, startE2bBox, until } from "./e2b-box.ts";

vi.setConfig({ testTimeout: slowMs, hookTimeout: slowMs });

let box: E2bBox;
beforeAll(async () => {
  box = await startE2bBox();
});
afterAll(() => box.dispose());

const background = (text: string, options: object = {}) =>
  box.sandbox.commands.run(text, { ...options, background: true });

describe("background commands", () => {
  test("one is listed with what it was started with, until it ends", async () => {
    const handle = await background("sleep 100", { envs: { MARK: "1" }, cwd: "~" });
    const row = (await box.sandbox.commands.list()).find(({ pid }) => pid === handle.pid);
    expect(row).toEqual({
      ...{
        pid: handle.pid,
        cmd: "/bin/bash",
        args: ["-l", "-c", "sleep 100"],
        envs: { MARK: "1" },
        cwd: "~",
      },
    });
    expect(await handle.kill()).toBe(true);
    await until("it isn't listed any more", async () =>
      (await box.sandbox.commands.list()).every(({ pid }) => pid !== handle.pid) ? true : undefined,
    );
  });

  test("its pid is the command's own", async () => {
    const handle = await background("echo $$; sleep 0.2");
    expect((await handle.wait()).stdout).toBe(`${handle.pid}\n`);
  });

  test("one that is killed ends by the signal, for whoever waits", async () => {
    const handle = await background("sleep 100");
    const waiting = handle.wait();
    expect(await handle.kill()).toBe(true);
    await expect(waiting).rejects.toThrow("signal: killed");
    expect([handle.exitCode, handle.error]).toEqual([-1, "signal: killed"]);
  });

  test("one that has ended can't be killed", async () => {
    const handle = await background("true");
    await handle.wait();
    expect(await handle.kill()).toBe(false);
    expect(await box.sandbox.commands.kill(handle.pid)).toBe(false);
  });

  test("all that it started is killed with it, and its port is free", async () => {
    const program =
      "require('net').createServer().listen(0,'127.0.0.1',function(){console.log(this.address().port)})";
    let out = "";
    const handle = await background(`node -e "${program}" & wait`, {
      onStdout: (text: string) => {
        out += text;
      },
    });
    const port = await until("the server listens", () => (/^\d+\n$/u.test(out) ? Number(out) : undefined));
    await handle.kill();
    await until("nobody listens any more", async () => {
      const probe = `(exec 3<>/dev/tcp/127.0.0.1/${port}) 2>/dev/null && echo open || echo closed`;
      return (await box.sandbox.commands.run(probe)).stdout === "closed\n" ? true : undefined;
    });
  });

  test("one runs on when its client leaves, and another client gets its end and all it printed", async () => {
    const handle = await background("echo one; read x; echo $x; exit 5", { stdin: true });
    await handle.disconnect();
    const other = box.connect();
    const again = await other.commands.connect(handle.pid);
    await again.sendStdin("two\n");
    await expect(again.wait()).rejects.toMatchObject({ exitCode: 5, stdout: "one\ntwo\n" });
  });

  test("a client that left hears nothing more", async () => {
    const heard: string[] = [];
    const handle = await background("read x; echo $x", {
      stdin: true,
      onStdout: (text: string) => void heard.push(text),
    });
    await handle.disconnect();
    await box.sandbox.commands.sendStdin(handle.pid, "late\n");
    await (await box.sandbox.commands.connect(handle.pid)).wait();
    expect(heard).toEqual([]);
  });

  test("two clients of one command both get everything", async () => {
    const handle = await background("read x; seq 1 2000", { stdin: true });
    const other = await box.connect().commands.connect(handle.pid);
    await handle.sendStdin("go\n");
    const [first, second] = await Promise.all([handle.wait(), other.wait()]);
    expect(first.stdout).toBe(second.stdout);
    expect(first.stdout.endsWith("\n1999\n2000\n")).toBe(true);
  });

  test("one that ended a moment ago still tells its end to a client that comes late", async () => {
    const handle = await background("echo gone; exit 4");
    await handle.wait().catch(() => undefined);
    const late = await box.sandbox.commands.connect(handle.pid);
    await expect(late.wait()).rejects.toMatchObject({ exitCode: 4, stdout: "gone\n" });
  });

  test("a limit of the connection ends that, and not the command", async () => {
    const handle = await background("sleep 100", { timeoutMs: 0 });
    const short = await box.sandbox.commands.connect(handle.pid, { timeoutMs: 500 });
    await expect(short.wait()).rejects.toThrow(TimeoutError);
    expect((await box.sandbox.commands.list()).some(({ pid }) => pid === handle.pid)).toBe(true);
    await handle.kill();
  });

  test("a hundred clients that come and go take nothing from the one that stays", async () => {
    const handle = await background("for i in $(seq 1 60); do seq 1 500; sleep 0.02; done; echo end");
    const visitors = Array.from({ length: 100 }, async (_, n) => {
      const visitor = await box.sandbox.commands.connect(handle.pid);
      await until("a moment has passed", () => (visitor.stdout.length > n * 50 ? true : undefined));
      await visitor.disconnect();
    });
    await Promise.all(visitors);
    const { stdout } = await handle.wait();
    expect(stdout.split("\n").length).toBe(60 * 500 + 2);
  });
});

describe("input", () => {
  test("what is sent is read, and the end of it too", async () => {
    const handle = await background("cat", { stdin: true });
    await handle.sendStdin("a\n");
    await handle.sendStdin("b\n");
    await handle.closeStdin();
    expect((await handle.wait()).stdout).toBe("a\nb\n");
  });

  test("bytes are sent as they are", async () => {
    const handle = await background("od -An -tx1", { stdin: true });
    await handle.sendStdin(new Uint8Array([0, 255, 10, 13]));
    await handle.closeStdin();
    expect((await handle.wait()).stdout.trim()).toBe("00 ff 0a 0d");
  });

  test("sends at once keep their order and lose nothing", async () => {
    const handle = await background("cat | sort -n | uniq | wc -l", { stdin: true });
    await Promise.all(Array.from({ length: 40 }, (_, n) => handle.sendStdin(`${n}\n`)));
    await handle.closeStdin();
    expect((await handle.wait()).stdout.trim()).toBe("40");
  });

  test("a megabyte arrives whole", async () => {
    const handle = await background("sha256sum", { stdin: true });
    const text = "x".repeat(1024 * 1024);
    await handle.sendStdin(text);
    await handle.closeStdin();
    expect((await handle.wait()).stdout).toBe(`${createHash("sha256").update(text).digest("hex")}  -\n`);
  });

  test("without input asked for a command reads its end at once", async () => {
    expect((await box.sandbox.commands.run("cat; echo end")).stdout).toBe("end\n");
  });

  test("a command that has no input takes none", async () => {
    const handle = await background("sleep 100");
    await expect(handle.sendStdin("x")).rejects.toThrow(SandboxError);
    await expect(handle.closeStdin()).rejects.toThrow(SandboxError);
    await handle.kill();
  });

  test("after its end input takes nothing more", async () => {
    const handle = await background("cat; sleep 100", { stdin: true });
    await handle.closeStdin();
    await expect(handle.sendStdin("x")).rejects.toThrow(SandboxError);
    await handle.kill();
  });

  test("input for a command that has ended is refused", async () => {
    const handle = await background("true", { stdin: true });
    await handle.wait();
    await expect(handle.sendStdin("x")).rejects.toThrow(NotFoundError);
  });
});

describe("terminals", () => {
  async function terminal(options: object = {}) {
    const shown: Uint8Array[] = [];
    const handle = await box.sandbox.pty.create({
      ...{ cols: 80, rows: 24, onData: (bytes: Uint8Array) => void shown.push(bytes), ...options },
    });
    const text = (): string => Buffer.concat(shown).toString("utf8");
    const type = (line: string) => box.sandbox.pty.sendInput(handle.pid, new TextEncoder().encode(line));
    const shows = (wanted: RegExp) =>
      until(`${wanted} is shown in ${JSON.stringify(text())}`, () => wanted.exec(text()) ?? undefined);
    return { handle, text, type, shows };
  }

  test("what is typed is run, and its end is the shell's", async () => {
    const { handle, type, shows } = await terminal();
    await type("echo $((6 * 7))\n");
    await shows(/\r42\r\n/u);
    await type("exit 3\n");
    await expect(handle.wait()).rejects.toMatchObject({ exitCode: 3 });
  });

  test("it is a terminal, of the size and kind that were asked for", async () => {
    const { handle, type, shows } = await terminal({ cols: 101, rows: 33 });
    await type("tty; stty size; echo $TERM-$LANG\n");
    await shows(/\r\/dev\/pts\/\d+\r\n33 101\r\nxterm-256color-C\.UTF-8\r\n/u);
    await handle.kill();
  });

  test("another size is told to the program", async () => {
    const { handle, type, shows } = await terminal();
    await box.sandbox.pty.resize(handle.pid, { cols: 120, rows: 40 });
    await until("the size has changed", async () => {
      await type("stty size\n");
      return await shows(/\r40 120\r\n/u).catch(() => undefined);
    });
    await handle.kill();
  });

  test("variables and folder are those of the call", async () => {
    const { handle, type, shows } = await terminal({ envs: { MARK: "here" }, cwd: "/" });
    await type("echo $MARK:$PWD\n");
    await shows(/\rhere:\/\r\n/u);
    await handle.kill();
  });

  test("Ctrl-C ends what runs in it, and not the shell", async () => {
    const { handle, type, shows } = await terminal();
    await type("echo rea''dy; sleep 100\n");
    await shows(/\rready\r\n/u);
    await type("\u0003");
    await type("echo alive$?\n");
    await shows(/\ralive130\r\n/u);
    await handle.kill();
  });

  test("one is listed, and killed once", async () => {
    const { handle } = await terminal();
    const row = (await box.sandbox.commands.list()).find(({ pid }) => pid === handle.pid);
    expect(row).toMatchObject({ cmd: "/bin/bash", args: ["-i", "-l"] });
    expect(await box.sandbox.pty.kill(handle.pid)).toBe(true);
    await expect(handle.wait()).rejects.toMatchObject({ exitCode: -1 });
    expect(await box.sandbox.pty.kill(handle.pid)).toBe(false);
  });

  test("a client that comes back sees what it missed, and not what it has seen", async () => {
    const { handle, type, shows } = await terminal();
    await type("echo be''fore\n");
    await shows(/\rbefore\r\n/u);
    await handle.disconnect();
    await type("sleep 0.3; echo mis''sed\n");
    let again = "";
    const other = await box.connect().pty.connect(handle.pid, {
      onData: (bytes) => {
        again += Buffer.from(bytes).toString("utf8");
      },
    });
    await until("what was missed is shown", () => (again.includes("\rmissed\r\n") ? true : undefined));
    expect(again).not.toContain("\rbefore\r\n");
    await other.kill();
  });

  test("its limit ends it", async () => {
    const { handle } = await terminal({ timeoutMs: 1000 });
    await expect(handle.wait()).rejects.toThrow(TimeoutError);
    await until("it isn't listed any more", async () =>
      (await box.sandbox.commands.list()).every(({ pid }) => pid !== handle.pid) ? true : undefined,
    );
  });

  test("a paste of 100,000 characters arrives whole", async () => {
    const { handle, type, shows } = await terminal();
    await type("stty -echo -icanon; head -c 100000 | sha256sum; stty sane\n");
    await shows(/sha256sum/u);
    await until("the program waits", async () =>
      (await box.sandbox.commands.run("pgrep -x -f 'head -c 100000' || true")).stdout === ""
        ? undefined
        : true,
    );
    await type("y".repeat(100_000));
    await shows(/[0-9a-f]{64} {2}-/u);
    await handle.kill();
  });

  test("a size of nothing is refused", async () => {
    await expect(terminal({ cols: 0, rows: 0 })).rejects.toThrow("a terminal has a size");
  });

  test("a command is no terminal", async () => {
    const handle = await background("sleep 100", { stdin: true });
    await expect(box.sandbox.pty.sendInput(handle.pid, new Uint8Array([1]))).rejects.toThrow(SandboxError);
    await expect(box.sandbox.pty.resize(handle.pid, { cols: 1, rows: 1 })).rejects.toThrow(SandboxError);
    await handle.kill();
  });
});
