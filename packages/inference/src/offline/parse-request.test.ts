import { describe, expect, test } from "vitest";
import { type OfflineAction, parseRequest } from "./parse-request.ts";

const run = (command: string): OfflineAction => ({ kind: "run", command });
const read = (path: string): OfflineAction => ({ kind: "read", path });
const list = (path: string): OfflineAction => ({ kind: "list", path });
const write = (path: string, content: string): OfflineAction => ({ kind: "write", path, content });

describe("a request is understood as its action", () => {
  const cases: readonly (readonly [string, OfflineAction])[] = [
    ["run `ls`", run("ls")],
    ["Run `ls -la`.", run("ls -la")],
    ["please run the command `date`", run("date")],
    ["run ls -la", run("ls -la")],
    ["run: sleep 5 && echo hi", run("sleep 5 && echo hi")],
    ["run: `uname -a`", run("uname -a")],
    ["execute uname -a", run("uname -a")],
    ["Can you execute `uname`?", run("uname")],
    ["$ echo hi", run("echo hi")],
    ["run: for i in 1 2; do\n  echo $i\ndone", run("for i in 1 2; do\n  echo $i\ndone")],
    ["run if true; then echo yes; fi", run("if true; then echo yes; fi")],
    ["run: echo a, then b", run("echo a, then b")],
    ["read notes.txt", read("notes.txt")],
    ["read the file notes.txt.", read("notes.txt")],
    ["show me the contents of src/main.ts", read("src/main.ts")],
    ['open "my notes.txt"', read("my notes.txt")],
    ["cat /etc/hostname", read("/etc/hostname")],
    ["write hello to notes.txt", write("notes.txt", "hello")],
    ['write "hello, world" to the file notes.txt', write("notes.txt", "hello, world")],
    ["save go to market into list.txt", write("list.txt", "go to market")],
    ["write to notes.txt: a line\nand another", write("notes.txt", "a line\nand another")],
    ["create a file a.txt with the content hi there", write("a.txt", "hi there")],
    ["list files", list(".")],
    ["list the files in src", list("src")],
    ["show me all files", list(".")],
    ["ls", list(".")],
    ["ls src/", list("src/")],
    ["what files are there?", list(".")],
  ];
  test.each(cases)("%j", (text, action) => {
    expect(parseRequest(text)).toEqual({ kind: "actions", actions: [action] });
  });
});

test("requests joined by then are taken apart in their order", () => {
  expect(parseRequest("write hello to a.txt, then run `cat a.txt` and then list files")).toEqual({
    kind: "actions",
    actions: [write("a.txt", "hello"), run("cat a.txt"), list(".")],
  });
});

test.each(["help", "Hello!", "what can you do?", "who are you", "please help"])(
  "%j asks for help",
  (text) => {
    expect(parseRequest(text)).toEqual({ kind: "help" });
  },
);

test.each(["", "write a poem", "refactor the code base", "helpful things"])("%j isn't understood", (text) => {
  expect(parseRequest(text)).toEqual({ kind: "unknown" });
});

test("more requests than the limit are no plan", () => {
  const many = Array.from({ length: 9 }, () => "list files").join(" then ");
  expect(parseRequest(many).kind).toBe("unknown");
});

test("a long text of blanks and quotes is judged quickly", () => {
  const startedMs = performance.now();
  parseRequest(`write ${" to".repeat(20_000)}`);
  parseRequest(`please ${"please ".repeat(20_000)}`);
  parseRequest(`read ${"`".repeat(50_000)}`);
  expect(performance.now() - startedMs).toBeLessThan(1_500);
});
