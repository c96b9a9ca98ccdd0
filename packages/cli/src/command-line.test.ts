import { expect, test } from "vitest";
import type { Command } from "./command.ts";
import { CommandFailure } from "./command-failure.ts";
import { parseCommandLine } from "./command-line.ts";
import { renderCommandHelp, renderOverview } from "./help-text.ts";

const greet: Command = {
  name: "greet",
  summary: "say hello",
  usage: "greet <name>",
  options: {
    loud: { type: "boolean", short: "l", about: "louder" },
    times: { type: "string", value: "<n>", about: "how often" },
  },
  examples: ["sand greet you"],
  words: [1, 1],
  run: () => Promise.resolve("ok"),
};
const commands = [greet];

function check(argv: readonly string[]) {
  const line = parseCommandLine(commands, argv);
  if (line.kind !== "run") return line.kind;
  const { input } = line;
  return {
    words: input.words,
    loud: input.flag("loud"),
    json: input.flag("json"),
    times: input.text("times"),
    root: input.text("data-root"),
  };
}

function failure(argv: readonly string[]): {
  readonly exit: string;
  readonly message: string;
  readonly hint: string | undefined;
} {
  try {
    parseCommandLine(commands, argv);
  } catch (error) {
    if (error instanceof CommandFailure)
      return { exit: error.exit, message: error.message, hint: error.hint };
    throw error;
  }
  throw new Error("it was accepted");
}

test("global options may stand before and after the command's name", () => {
  const expected = { words: ["you"], loud: false, json: true, times: undefined, root: "/x" };
  expect(check(["--json", "--data-root", "/x", "greet", "you"])).toEqual(expected);
  expect(check(["greet", "you", "--json", "--data-root=/x"])).toEqual(expected);
});

test("a command's own options are read, long and short", () => {
  expect(check(["greet", "-l", "--times", "3", "you"])).toEqual({
    words: ["you"],
    loud: true,
    json: false,
    times: "3",
    root: undefined,
  });
});

test("a word after two dashes is never an option", () => {
  expect(check(["greet", "--", "--loud"])).toMatchObject({ words: ["--loud"], loud: false });
});

test("no command at all shows the help, and so does asking for it anywhere", () => {
  expect(parseCommandLine(commands, [])).toEqual({ kind: "help", command: undefined, asked: false });
  expect(parseCommandLine(commands, ["--help"])).toEqual({ kind: "help", command: undefined, asked: true });
  expect(parseCommandLine(commands, ["help", "greet"])).toEqual({
    kind: "help",
    command: greet,
    asked: true,
  });
  expect(parseCommandLine(commands, ["greet", "--help"])).toEqual({
    kind: "help",
    command: greet,
    asked: true,
  });
  expect(parseCommandLine(commands, ["-h", "greet"])).toEqual({ kind: "help", command: greet, asked: true });
});

test("the version is asked for by one option", () => {
  expect(check(["--version"])).toBe("version");
  expect(check(["-V"])).toBe("version");
});

test("an unknown command is refused with the nearest one", () => {
  expect(failure(["gret"])).toEqual({
    exit: "usage",
    message: 'there is no command "gret"',
    hint: 'did you mean "sand greet"? See sand --help',
  });
});

test.each(["rgeet", "reet", "grreet", "grext", "help gret"])("%s is a slip of greet", (line) => {
  expect(failure(line.split(" ")).hint).toBe('did you mean "sand greet"? See sand --help');
});

test("a name that is like none gets no guess", () => {
  expect(failure(["frobnicate"]).hint).toBe("see sand --help");
});

test("an option's value that looks like an option is refused with the way to write it", () => {
  expect(failure(["greet", "you", "--times", "-5"]).message).toBe(
    "--times needs a value; one that begins with a dash is written --times=<value>",
  );
});

test("an unknown option is refused, before the command and after", () => {
  expect(failure(["--jsn"]).exit).toBe("usage");
  expect(failure(["greet", "you", "--luod"]).message).toContain("--luod");
});

test("too few and too many words are refused with the usage", () => {
  expect(failure(["greet"]).message).toBe("usage: sand greet <name>");
  expect(failure(["greet", "a", "b"]).message).toBe("usage: sand greet <name>");
});

test("the help of a command names its options and examples, the overview every exit status", () => {
  expect(renderCommandHelp(greet)).toContain("-l, --loud");
  expect(renderCommandHelp(greet)).toContain("sand greet you");
  for (const code of [0, 1, 2, 3, 4, 5, 6, 7, 130])
    expect(renderOverview(commands)).toMatch(new RegExp(`^ {2}${code} `, "mu"));
});

const wrap: Command = {
  ...greet,
  name: "wrap",
  options: {
    env: { type: "string", multiple: true, short: "e", value: "<n>", about: "a variable" },
    dry: { type: "boolean", about: "no" },
  },
  words: [1, 9],
  takesCommandLine: true,
};

test.each([
  [
    ["wrap", "--dry", "-e", "a", "--env", "b", "ls", "-l", "--dry", "--json"],
    ["ls", "-l", "--dry", "--json"],
    ["a", "b"],
  ],
  [["wrap", "--env=a", "--", "--dry", "--", "x"], ["--dry", "--", "x"], ["a"]],
  [["--json", "wrap", "ls", "-h"], ["ls", "-h"], []],
])(
  "behind a command that wraps another, only what stands before the other's name is ours (%j)",
  (argv, words, env) => {
    const line = parseCommandLine([wrap], argv);
    if (line.kind !== "run") throw new Error(line.kind);
    expect([line.input.words, line.input.list("env")]).toEqual([words, env]);
  },
);
