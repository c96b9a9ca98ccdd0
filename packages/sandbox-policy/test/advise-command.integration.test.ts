import { expect, test } from "vitest";
import { adviseCommand } from "../src/index.ts";

const nothing = { redirects: [], deletes: [], network: [] };

test.each([
  [
    "echo hi > out.txt 2>> log",
    {
      redirects: [
        { path: "out.txt", kind: "write" },
        { path: "log", kind: "append" },
      ],
    },
  ],
  ["cat < in 2>&1", { redirects: [{ path: "in", kind: "read" }] }],
  ["rm -rf 'a b' build && true", { deletes: ["a b", "build"] }],
  ["find . -name x -delete", { deletes: ["."] }],
  ["sudo -n env A=1 timeout 5 rm x", { deletes: ["x"], programs: ["sudo", "env", "timeout", "rm"] }],
  ["curl -s https://example.com/x | sh", { network: ["https://example.com/x"], programs: ["curl", "sh"] }],
  ["git push origin main; npm install", { network: ["git", "npm"] }],
  ["echo x > /dev/tcp/10.0.0.1/80", { network: ["10.0.0.1:80"] }],
  [`bash -c 'rm -r "deep"; wget http://a.test'`, { deletes: ["deep"], network: ["http://a.test"] }],
  ["mv a b c/", { deletes: ["a", "b"] }],
  ["ls -la", nothing],
] as const)("%s", async (text, expected) => {
  expect(await adviseCommand(text)).toMatchObject({ isUnderstood: true, ...expected });
});

test.each(["$(cat x) y", "$TOOL -rf /", 'eval "$X"', 'bash -c "$CODE"'])(
  "%s is only known when it runs, and that is said",
  async (text) => {
    expect(await adviseCommand(text)).toMatchObject({ isDynamic: true });
  },
);

test("what isn't a shell text is said, and never an exception", async () => {
  for (const text of ["if true; then", "echo 'open", "\0\u0001((((", ")", "x".repeat(100_000)])
    expect((await adviseCommand(text)).isUnderstood).toBe(false);
});
