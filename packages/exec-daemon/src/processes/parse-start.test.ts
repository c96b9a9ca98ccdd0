import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type StartRequest, StartRequestSchema } from "@sand/protocol/exec";
import { expect, test } from "vitest";
import { computeDigest, validateStart } from "./parse-start.ts";

type Init = Exclude<MessageInitShape<typeof StartRequestSchema>, StartRequest>;
const base = { processId: "p", command: { case: "shell", value: "true" } } as const;
const digestOf = (change: Init): string => computeDigest(create(StartRequestSchema, { ...base, ...change }));

test.each<[string, Init]>([
  ["id", { processId: "q" }],
  ["command", { command: { case: "shell", value: "false" } }],
  ["kind of command", { command: { case: "argv", value: { args: ["true"] } } }],
  ["folder", { cwd: "/x" }],
  ["environment", { env: { A: "1" } }],
  ["user", { user: "box" }],
  ["terminal", { tty: true }],
  ["input", { stdin: true }],
  ["sandbox", { sandbox: { writableRoots: ["/x"] } }],
  ["masks", { sandbox: { maskedPaths: ["/x"] } }],
  ["display", { display: ":1" }],
  ["lineage", { lineage: { agentId: "a" } }],
  ["background", { background: true }],
  ["life limit", { killMs: 1n }],
  ["label", { labels: { a: "1" } }],
])("another %s is another request", (_name, change) => {
  expect(digestOf(change)).not.toBe(digestOf({}));
});

test("the order of the environment's entries is no difference", () => {
  expect(digestOf({ env: { A: "1", B: "2" } })).toBe(digestOf({ env: { B: "2", A: "1" } }));
});

test.each<[string, Init, string]>([
  ["no id", { processId: "" }, "exec/invalid"],
  ["an id that is too long", { processId: "x".repeat(600) }, "exec/invalid"],
  ["no command", { command: { case: undefined } }, "exec/invalid"],
  ["a NUL in the command", { command: { case: "shell", value: "a\0b" } }, "exec/invalid"],
  ["a command that is too long", { command: { case: "shell", value: "x".repeat(200_000) } }, "exec/invalid"],
  ["a bad name in the environment", { env: { "A=B": "1" } }, "exec/invalid"],
  ["our marker in the environment", { env: { SAND_EXECUTION_ID: "1" } }, "exec/invalid"],
  [
    "too many labels",
    { labels: Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`l${i}`, ""])) },
    "exec/invalid",
  ],
  ["labels that are too large", { labels: { a: "x".repeat(200_000) } }, "exec/invalid"],
  ["a relative root", { sandbox: { writableRoots: ["x"] } }, "exec/invalid"],
  ["a terminal", { tty: true }, "exec/unsupported"],
  ["a user", { user: "root" }, "exec/unsupported"],
])("%s is refused", (_name, change, code) => {
  expect(() => validateStart(create(StartRequestSchema, { ...base, ...change }))).toThrow(
    expect.objectContaining({ code }),
  );
});
