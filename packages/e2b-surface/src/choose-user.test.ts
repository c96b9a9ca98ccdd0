import { expect, test } from "vitest";
import { checkUser, userOfHeader } from "./choose-user.ts";

const account = { name: "user", realName: "box", home: "/home/box" };
const basic = (text: string): string => `Basic ${Buffer.from(text).toString("base64")}`;

test.each([
  ["a name without a password", basic("user:"), "user"],
  ["a password that nobody asked for", basic("user:x:y"), "user"],
  ["a name without a colon", basic("user"), "user"],
  ["no header", undefined, undefined],
  ["a bearer", "Bearer user", undefined],
  ["what isn't base64", "Basic ???", undefined],
])("the account of %s", (_what, header, name) => {
  expect(userOfHeader(header)).toBe(name);
});

test.each([undefined, "", "user", "box"])("the account here is known as %j", (name) => {
  expect(() => checkUser(account, name)).not.toThrow();
});

test.each(["root", "USER", "user "])("another account, %j, is unknown", (name) => {
  expect(() => checkUser(account, name)).toThrow(/unauthenticated/u);
});
