import { expect, test } from "vitest";
import { type AccountChoice, chooseAccount } from "./choose-account.ts";

const box = { name: "box", uid: 1000, gid: 1000, home: "/home/box" };
const choice: AccountChoice = {
  ...{ name: "user", home: "", isEnclosed: false, workspaceRoot: "/workspace", ownUid: 0 },
  commandEnv: { HOME: "/root", USER: "root" },
  ...{ commandUser: undefined, accounts: [] },
};

test("on a plain machine it is the daemon's own account, under the name that clients know", () => {
  expect(chooseAccount(choice)).toEqual({ name: "user", realName: "root", home: "/root" });
});

test("where commands have an account of their own it is that one", () => {
  expect(chooseAccount({ ...choice, commandUser: box })).toEqual({
    ...{ name: "user", realName: "box", home: "/home/box" },
  });
});

test("a second name of the same account brings its home", () => {
  const accounts = [box, { ...box, name: "user", home: "/home/user" }];
  expect(chooseAccount({ ...choice, commandUser: box, accounts }).home).toBe("/home/user");
});

test("an account of the same name that is another one brings nothing", () => {
  const accounts = [{ ...box, name: "user", uid: 1234, home: "/home/user" }];
  expect(chooseAccount({ ...choice, commandUser: box, accounts }).home).toBe("/home/box");
});

test("in a sandbox the home is the workspace, which alone can be written", () => {
  expect(chooseAccount({ ...choice, isEnclosed: true }).home).toBe("/workspace");
});

test("a home that is set is taken", () => {
  expect(chooseAccount({ ...choice, isEnclosed: true, home: "/data" }).home).toBe("/data");
});
