import { expect, test } from "vitest";
import type { DockerAnswer } from "./run-docker.ts";
import { runArguments, startBox } from "./start-box.ts";

const options = {
  image: "sand-box:local",
  port: 1340,
  secrets: {
    SAND_GATEWAY_TOKEN: "planted-1",
    OPENROUTER_API_KEY: "planted-2",
    SAND_BOX_EXEC_DAEMON_AUTH_TOKEN: "planted-3",
  },
  environment: { PATH: "/bin", SAND_INFERENCE_MODEL: "m", SAND_DATA_ROOT: "/home/me/.sand" },
};

test("a credential is named in the arguments, and its value isn't", () => {
  const args = runArguments(options).join(" ");
  expect(args).toContain("--env SAND_GATEWAY_TOKEN --env OPENROUTER_API_KEY");
  expect(args).not.toContain("planted");
});

test("ports are published on the loopback only", () => {
  const published = runArguments(options).filter((_word, at, all) => all[at - 1] === "--publish");
  expect(published).toEqual(["127.0.0.1:1340:1340"]);
});

test("paths of this machine and the daemon's token stay outside", () => {
  const args = runArguments(options).join(" ");
  expect(args).toContain("SAND_INFERENCE_MODEL=m");
  expect(args).not.toMatch(/SAND_DATA_ROOT|EXEC_DAEMON_AUTH/u);
});

/** Answers `inspect` as told and notes what else is asked of it. */
function standIn(inspected: DockerAnswer) {
  const asked: string[] = [];
  const docker = (args: readonly string[]): Promise<DockerAnswer> => {
    asked.push(args[0] ?? "");
    return Promise.resolve(args[0] === "container" ? inspected : { ok: true, stdout: "", complaint: "" });
  };
  return { docker, asked };
}

const found = (stdout: string): DockerAnswer => ({ ok: true, stdout, complaint: "" });
const starts = [
  [{ ok: false, stdout: "", complaint: "no such container" }, "created", ["container", "run"]],
  [found("1 false"), "started", ["container", "start"]],
  [found("1 true"), "running", ["container"]],
] as const;
test.each(starts)("a container that is %o comes to be %s", async (inspected, began, commands) => {
  const { docker, asked } = standIn(inspected);
  expect([await startBox({ ...options, docker }), asked]).toEqual([began, commands]);
});

test("a container of that name which isn't ours is left alone", async () => {
  for (const state of [" true", "<no value> false"]) {
    const { docker, asked } = standIn(found(state));
    await expect(startBox({ ...options, docker })).rejects.toMatchObject({ exit: "conflict" });
    expect(asked).toEqual(["container"]);
  }
});
