import { expect, test } from "vitest";
import { runAsUser, undoRunAsUser } from "../command-user.ts";
import { addSecrets } from "./add-secrets.ts";

const user = { uid: 1000, gid: 1000, name: "box", home: "/home/box" };
const plain = {
  argv: ["/bin/true"],
  env: { A: "1", B: "2" },
  cwd: "/",
  stdin: false,
  killMs: 0,
  sandboxed: false,
};

test("secrets join the environment, and what the request sets wins", () => {
  expect(addSecrets(plain, { A: "secret", C: "3" })).toEqual({ ...plain, env: { A: "1", B: "2", C: "3" } });
});

test("for another account they are the environment of the first program, and in no argument", () => {
  const switched = { ...plain, ...runAsUser(user, plain), user };
  const launch = addSecrets(switched, { TOKEN: "value" });
  expect(launch.env).toEqual({ TOKEN: "value" });
  expect(launch.argv).toHaveLength(switched.argv.length);
  expect(launch.argv).not.toContain("--ignore-environment");
  expect(launch.argv.join(" ")).not.toContain("value");
});

test("who becomes the account by itself gets the secrets with the other variables", () => {
  const switched = { ...plain, ...runAsUser(user, plain), user };
  const undone = undoRunAsUser(user, addSecrets(switched, { A: "secret", TOKEN: "value" }));
  expect(undone).toEqual({ argv: plain.argv, cwd: plain.cwd, env: { A: "1", B: "2", TOKEN: "value" } });
});

test("without secrets the plan is the same", () => {
  const switched = { ...plain, ...runAsUser(user, plain), user };
  expect(addSecrets(switched, {})).toBe(switched);
});
