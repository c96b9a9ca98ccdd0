import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { parseDaemonConfig } from "../src/config.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sand-config-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test.each([
  [{}, "local"],
  [{ BOX_EXEC_DAEMON_HOST: "127.0.0.1", SAND_BOX_EXEC_DAEMON_AUTH_TOKEN: "mine" }, "mine"],
  [{ BOX_EXEC_DAEMON_HOST: "0.0.0.0", SAND_BOX_EXEC_DAEMON_AUTH_TOKEN: "mine" }, "mine"],
])("the token of %o is %s", (env, token) => {
  expect(parseDaemonConfig(env).token).toBe(token);
});

test.each([{}, { SAND_BOX_EXEC_DAEMON_AUTH_TOKEN: "local" }])(
  "on every address without a token of its own it refuses: %o",
  (env) => {
    expect(() => parseDaemonConfig({ BOX_EXEC_DAEMON_HOST: "0.0.0.0", ...env })).toThrow(
      expect.objectContaining({ code: "config/invalid" }),
    );
  },
);

test("a token file is read, unless others may read it too", () => {
  const path = join(folder, "token");
  writeFileSync(path, "from-file\n", { mode: 0o600 });
  const env = { SAND_BOX_EXEC_DAEMON_AUTH_TOKEN_FILE: path };
  expect(parseDaemonConfig(env)).toMatchObject({ token: "from-file", secretFiles: [path] });
  chmodSync(path, 0o644);
  expect(() => parseDaemonConfig(env)).toThrow(expect.objectContaining({ code: "config/invalid" }));
});

test.each([
  [{ SAND_BOX_EXEC_DAEMON_PORT: "1", BOX_EXEC_DAEMON_PORT: "2", EXEC_DAEMON_PORT: "3" }, 1],
  [{ BOX_EXEC_DAEMON_PORT: "2", EXEC_DAEMON_PORT: "3" }, 2],
  [{ EXEC_DAEMON_PORT: "3" }, 3],
  [{}, 1337],
])("of several names for the port the first one counts: %o", (env, port) => {
  expect(parseDaemonConfig(env).rpcPort).toBe(port);
});

test("a command inherits by name, so never a token", () => {
  const env = {
    PATH: "/x",
    SAND_BOX_EXEC_DAEMON_AUTH_TOKEN: "secret",
    OPENAI_API_KEY: "secret",
    LANG: "de_DE.UTF-8",
  };
  const { commandEnv } = parseDaemonConfig(env);
  expect(JSON.stringify(commandEnv)).not.toContain("secret");
  expect(commandEnv).toMatchObject({ PATH: "/x", LANG: "de_DE.UTF-8" });
});
