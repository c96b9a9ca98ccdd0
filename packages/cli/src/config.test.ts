import { expect, test } from "vitest";
import { parseConfig } from "./config.ts";
import { describeModel, modelLine } from "./local-host/describe-model.ts";

test("credentials are taken out of what a child process gets", () => {
  const config = parseConfig({
    PATH: "/bin",
    SAND_GATEWAY_TOKEN: "planted-1",
    OPENROUTER_API_KEY: "planted-2",
    SAND_INFERENCE_API_KEY: "planted-3",
    SAND_BOX_EXEC_DAEMON_AUTH_TOKEN: "planted-4",
    SAND_HOST_GATEWAY_TOKEN: "planted-5",
    SAND_INFERENCE_MODEL: "m",
  });
  expect(config.childEnvironment).toEqual({ PATH: "/bin", SAND_INFERENCE_MODEL: "m" });
  expect(config.secrets).toEqual({
    SAND_GATEWAY_TOKEN: "planted-1",
    OPENROUTER_API_KEY: "planted-2",
    SAND_INFERENCE_API_KEY: "planted-3",
    SAND_BOX_EXEC_DAEMON_AUTH_TOKEN: "planted-4",
  });
});

test("a child process gets what a program needs, and no other variable of the shell", () => {
  const config = parseConfig({
    HOME: "/h",
    LC_ALL: "C",
    https_proxy: "http://p",
    AWS_SECRET_ACCESS_KEY: "x",
    NODE_OPTIONS: "--x",
  });
  expect(config.childEnvironment).toEqual({ HOME: "/h", LC_ALL: "C", https_proxy: "http://p" });
});

test("the usual keys for S3 go to a host only when it keeps its snapshots there, and never by halves", () => {
  const aws = { AWS_ACCESS_KEY_ID: "a", AWS_SECRET_ACCESS_KEY: "b" };
  const asOurs = { SAND_BOX_STORE_ACCESS_KEY_ID: "a", SAND_BOX_STORE_SECRET_ACCESS_KEY: "b" };
  expect(parseConfig(aws)).toMatchObject({ secrets: {}, storeKeys: asOurs });
  expect(parseConfig({ ...aws, SAND_BOX_STORE: "/mnt/backups" }).secrets).toEqual({});
  expect(parseConfig({ ...aws, SAND_BOX_STORE: "s3://boxes" }).secrets).toEqual(asOurs);
  const own = { SAND_BOX_STORE_ACCESS_KEY_ID: "c" };
  expect(parseConfig({ ...aws, ...own }).storeKeys).toEqual(own);
});

test("an empty variable counts as absent", () => {
  const config = parseConfig({ SAND_DATA_ROOT: "", OPENAI_API_KEY: "" });
  expect([config.dataRoot, config.secrets, config.port]).toEqual([undefined, {}, 1340]);
});

test("a port that is none is refused by its name", () => {
  expect(() => parseConfig({ SAND_HOST_PORT: "70000" })).toThrow(/SAND_HOST_PORT/u);
});

const providers: readonly (readonly [Record<string, string>, string, boolean])[] = [
  [{}, "offline", false],
  [{ OPENROUTER_API_KEY: "k" }, "openrouter", true],
  [{ OPENROUTER_API_KEY: "k", SAND_INFERENCE_MODEL: "m" }, "openrouter", false],
  [{ OPENAI_API_KEY: "k", ANTHROPIC_API_KEY: "k", SAND_INFERENCE_MODEL: "m" }, "anthropic", false],
  [{ OPENAI_API_KEY: "k", SAND_INFERENCE_MODEL: "m" }, "openai", false],
  [{ ANTHROPIC_API_KEY: "k" }, "anthropic", true],
  [{ SAND_INFERENCE_PROVIDER: "offline", OPENROUTER_API_KEY: "k" }, "offline", false],
  [{ SAND_INFERENCE_PROVIDER: "openai-compatible" }, "openai-compatible", true],
  [{ SAND_INFERENCE_PROVIDER: "openai", SAND_INFERENCE_MODEL: "m" }, "openai", true],
  [{ SAND_INFERENCE_BASE_URL: "127.0.0.1:8080/v1", SAND_INFERENCE_MODEL: "m" }, "openai-compatible", true],
  [{ SAND_INFERENCE_BASE_URL: "http://a:b@c/v1", SAND_INFERENCE_MODEL: "m" }, "openai-compatible", true],
  [{ SAND_INFERENCE_BASE_URL: "http://c/v1", SAND_INFERENCE_MODEL: "m" }, "openai-compatible", false],
];
test.each(providers)("the model provider of %o is %s", (env, provider, hasProblem) => {
  const choice = describeModel(parseConfig(env));
  expect([choice.provider, choice.problem !== undefined]).toEqual([provider, hasProblem]);
});

test("where a named provider answers is said, without what stands behind a question mark", () => {
  const env = { SAND_INFERENCE_BASE_URL: "http://c:1/v1?key=secret", SAND_INFERENCE_MODEL: "m" };
  expect(modelLine(describeModel(parseConfig(env)))).toBe("openai-compatible, m, at http://c:1/v1");
});
