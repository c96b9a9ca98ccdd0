import { expect, test } from "vitest";
import { readConfig } from "./config.ts";

test("what a person sets for the daemon reaches the daemon that the host starts, and isn't called unknown", () => {
  const env = {
    SAND_KEEPER: "node",
    SAND_BOX_PTY_PORT: "0",
    SAND_E2B_COMPAT: "1",
    SAND_PLUGINS_ROOT: "/plugins",
    SAND_BOX_TERMINALS_DIRECTORY: "/terminals",
  };
  const config = readConfig({ ...env, SAND_INFERENCE_PROVIDER: "offline" }, "/");
  expect(config.exec.env).toEqual(env);
  expect(config.warnings).toEqual([]);
});
