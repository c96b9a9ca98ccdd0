/** What an orchestrator changes by /init, and what survives: restarts of the daemon, clients that come and go. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readProcessIdentity } from "@sand/node-kit";
import { AuthenticationError } from "e2b";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { type E2bBox, slowMs, startE2bBox, token, until } from "./e2b-box.ts";

vi.setConfig({ testTimeout: slowMs, hookTimeout: slowMs });

const boxes: E2bBox[] = [];
async function box(env: Record<string, string> = {}): Promise<E2bBox> {
  const started = await startE2bBox(env);
  boxes.push(started);
  return started;
}
afterAll(async () => {
  for (const started of boxes.splice(0)) await started.dispose();
});

/** the one of most tests; each leaves the token as it was */
let at: E2bBox;
beforeAll(async () => {
  at = await box();
});

const init = (body: object, headers: Record<string, string> = {}): Promise<Response> =>
  at.fetch("/init", { method: "POST", body: JSON.stringify(body), headers });

describe("/init", () => {
  test("variables, the folder and the account for all that follows are set", async () => {
    await at.sandbox.files.makeDir("work");
    const body = { envVars: { GLOBAL: "g", BOTH: "g" }, defaultWorkdir: "work", defaultUser: "user" };
    expect((await init(body)).status).toBe(204);
    const { stdout } = await at.sandbox.commands.run('echo "$GLOBAL $BOTH $E2B_SANDBOX $PWD"', {
      envs: { BOTH: "own" },
    });
    expect(stdout).toBe(`g own true ${at.home}/work\n`);
    expect(await (await at.fetch("/envs")).json()).toEqual({ E2B_SANDBOX: "true", GLOBAL: "g", BOTH: "g" });
  });

  test("another token holds from then on, for calls and signatures, and the old one doesn't", async () => {
    await at.sandbox.files.write("x", "x");
    const oldUrl = await at.sandbox.downloadUrl("x");
    expect((await init({ accessToken: "the-new-one" })).status).toBe(204);
    await expect(at.sandbox.commands.list()).rejects.toThrow(AuthenticationError);
    const other = at.connect({ token: "the-new-one" });
    expect(await other.commands.list()).toEqual([]);
    expect((await fetch(oldUrl)).status).toBe(401);
    expect((await fetch(await other.downloadUrl("x"))).status).toBe(200);
    // Who has the daemon's own bearer may set it again; who only knows the old token may not.
    expect((await init({ accessToken: token })).status).toBe(401);
    const headers = { "x-access-token": "", authorization: `Bearer ${token}` };
    expect((await init({ accessToken: token }, headers)).status).toBe(204);
    expect(await at.sandbox.commands.list()).toEqual([]);
  });

  test("a message that is older than the last one changes nothing", async () => {
    await init({ envVars: { A: "new" }, timestamp: "2026-02-01T00:00:00Z" });
    expect((await init({ envVars: { A: "old" }, timestamp: "2026-01-01T00:00:00Z" })).status).toBe(204);
    expect(await (await at.fetch("/envs")).json()).toMatchObject({ A: "new" });
  });

  test("certificates are known to commands, beside the system's own", async () => {
    const pem = makeCertificate();
    expect((await init({ caBundle: pem })).status).toBe(204);
    const { stdout } = await at.sandbox.commands.run(
      'cat "$NODE_EXTRA_CA_CERTS"; grep -c BEGIN "$SSL_CERT_FILE"',
    );
    expect(stdout).toContain(pem.trim());
    const system = execFileSync("sh", ["-c", "grep -c BEGIN /etc/ssl/certs/ca-certificates.crt || true"]);
    expect(Number(stdout.trim().split("\n").at(-1))).toBe(Number(system.toString()) + 1);
  });

  test.each([
    ["an account that isn't here", { defaultUser: "stranger" }, 401],
    ["an empty token", { accessToken: "" }, 400],
    ["a token with a space", { accessToken: "a b" }, 400],
    ["variables that are none", { envVars: { "A B": "1" } }, 400],
    ["a variable that is no text", { envVars: { A: 1 } }, 400],
    ["certificates that are none", { caBundle: "x" }, 400],
    ["a time that is none", { timestamp: "soon" }, 400],
  ])("%s is refused, and nothing of it holds", async (_what, body, status) => {
    const before = await (await at.fetch("/envs")).json();
    expect((await init({ ...body, ...("envVars" in body ? {} : { envVars: { LEFT: "1" } }) })).status).toBe(
      status,
    );
    expect(await (await at.fetch("/envs")).json()).toEqual(before);
  });
});

function makeCertificate(): string {
  const folder = mkdtempSync(join(tmpdir(), "sand-cert-"));
  try {
    const out = join(folder, "c.pem");
    const words = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
    const files = ["-keyout", join(folder, "k.pem"), "-out", out, "-subj", "/CN=test", "-days", "2"];
    execFileSync("openssl", [...words, ...files], { stdio: "ignore" });
    return readFileSync(out, "utf8");
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

describe("what survives", () => {
  test("a command outlives the daemon; what /init set doesn't, so that a lost token never leaves it open", async () => {
    const handle = await at.sandbox.commands.run("echo before; read x; echo $x; exit 7", {
      ...{ background: true, stdin: true, envs: { MARK: "1" } },
    });
    handle.wait().catch(() => undefined);
    await init({ accessToken: "the-new-one" });
    await at.kill();
    at = await at.again();
    boxes.push(at);
    await expect(at.connect({ token: "the-new-one" }).commands.list()).rejects.toThrow(AuthenticationError);
    expect(await at.sandbox.commands.list()).toMatchObject([{ pid: handle.pid, envs: { MARK: "1" } }]);
    const again = await at.sandbox.commands.connect(handle.pid);
    await again.sendStdin("after\n");
    await expect(again.wait()).rejects.toMatchObject({ exitCode: 7, stdout: "before\nafter\n" });
  });

  test("a terminal is ended by the next daemon, because no client would find it again", async () => {
    const terminal = await at.sandbox.pty.create({ cols: 80, rows: 24, onData: () => undefined });
    terminal.wait().catch(() => undefined);
    expect(readProcessIdentity(terminal.pid)).toBeDefined();
    await at.kill();
    at = await at.again();
    boxes.push(at);
    await until("it is gone", () => (readProcessIdentity(terminal.pid) === undefined ? true : undefined));
  });

  test("a client of this surface sees and ends nothing that others run", async () => {
    await startNatively("others", "sleep 100");
    expect(await at.sandbox.commands.list()).toEqual([]);
    const { stdout } = await at.sandbox.commands.run("pgrep -x -f 'sleep 100' | head -1");
    expect(await at.sandbox.commands.kill(Number(stdout))).toBe(false);
  });
});

async function startNatively(processId: string, text: string): Promise<void> {
  const answer = await fetch(`${at.rpcUrl}/exec.v1.Processes/Start`, {
    ...{ method: "POST", body: JSON.stringify({ processId, shell: text }) },
    headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
  });
  expect(answer.status).toBe(200);
}

test("row 60: after clients have gone, descriptors are back at where they were", async () => {
  await at.sandbox.files.makeDir("watched");
  const command = await at.sandbox.commands.run("sleep 300", { background: true, timeoutMs: 0 });
  const visit = async (): Promise<void> => {
    const other = at.connect();
    const reader = await other.commands.connect(command.pid, { timeoutMs: 0 });
    const watcher = await other.files.watchDir("watched", () => undefined, { timeoutMs: 0 });
    const terminal = await other.pty.create({ cols: 80, rows: 24, onData: () => undefined });
    await reader.disconnect();
    await watcher.stop();
    await terminal.disconnect();
    await other.pty.kill(terminal.pid);
  };
  // What is opened once and for good, such as helpers and the pool of connections, is there after the first round.
  for (let n = 0; n < 5; n += 1) await visit();
  const idle = (): Promise<number> => settledDescriptors();
  const before = await idle();
  for (let n = 0; n < 30; n += 1) await visit();
  const after = await until("descriptors are back", async () => {
    const count = await idle();
    return count <= before + 2 ? count : undefined;
  });
  expect(after).toBeLessThanOrEqual(before + 2);
  await command.kill();
});

test("readers and watchers that have gone hold no place: there are more of them than may be there at once", async () => {
  await at.sandbox.files.makeDir("watched");
  const command = await at.sandbox.commands.run("sleep 300", { background: true, timeoutMs: 0 });
  for (let n = 0; n < 80; n += 1)
    await (await at.sandbox.files.watchDir("watched", () => undefined, { timeoutMs: 0 })).stop();
  for (let n = 0; n < 530; n += 10) {
    const connect = () => at.sandbox.commands.connect(command.pid, { timeoutMs: 0 });
    const readers = await Promise.all(Array.from({ length: 10 }, connect));
    await Promise.all(readers.map((reader) => reader.disconnect()));
  }
  expect((await at.sandbox.commands.run("echo there is room")).stdout).toBe("there is room\n");
  await command.kill();
});

/** The count when it has stayed the same for a moment. */
async function settledDescriptors(): Promise<number> {
  let last = -1;
  let same = 0;
  return await until("the count of descriptors rests", () => {
    const count = at.descriptors();
    same = count === last ? same + 1 : 0;
    last = count;
    return same >= 25 ? count : undefined;
  });
}

test("with a token that everybody knows the surface isn't opened", async () => {
  await expect(box({ SAND_BOX_EXEC_DAEMON_AUTH_TOKEN: "local" })).rejects.toThrow("needs a token of its own");
});

test("in a sandbox the home is the workspace, and commands and files agree on it", async () => {
  const enclosed = await box({ SAND_SANDBOX: "required" });
  const workspace = join(enclosed.folder, "workspace");
  await enclosed.sandbox.files.write("here.txt", "x");
  expect(readFileSync(join(workspace, "here.txt"), "utf8")).toBe("x");
  const { stdout } = await enclosed.sandbox.commands.run(
    'cat here.txt; pwd; echo "$HOME"; git config --global a.b c; ls -A .gitconfig here.txt',
  );
  expect(stdout).toBe(`x${workspace}\n${workspace}\n.gitconfig\nhere.txt\n`);
  await expect(enclosed.sandbox.files.write("/etc/sand-e2b-test", "x")).rejects.toThrow();
});
