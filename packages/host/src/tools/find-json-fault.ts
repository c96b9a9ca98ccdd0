/**
 * Finds where a text stops being JSON. `JSON.parse` decides whether it is; its messages name a position for some
 * faults only, and a model needs the exact place to send better arguments. Works without recursion, so that a
 * million open brackets are a fault and not a crash.
 */

export interface JsonFault {
  /** index of the first character that can't follow; the length of the text when it ends too early */
  readonly position: number;
  readonly expected: string;
}

type Awaited = "value" | "value-or-]" | "key" | "key-or-}" | "colon" | "comma-or-end" | "end";

const expectations = {
  value: "a value",
  "value-or-]": "a value or ]",
  key: "a name in double quotes",
  "key-or-}": "a name in double quotes or }",
  colon: "a colon",
  "comma-or-end": "a comma or the closing bracket",
  end: "nothing more",
} as const satisfies Record<Awaited, string>;

const blanks = /[ \t\n\r]*/y;
const scalar = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;
/** takes more than `scalar` only where the text ends inside a number or a word */
const unfinishedScalar =
  /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+|(?:\.|[eE][+-]?)$)?|-$|t(?:r(?:u(?:e|$)|$)|$)|f(?:a(?:l(?:s(?:e|$)|$)|$)|$)|n(?:u(?:l(?:l|$)|$)|$)/y;
const escapeSequence = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;

/** Returns the first fault, or `undefined` for valid JSON. */
export function findJsonFault(text: string): JsonFault | undefined {
  const open: ("{" | "[")[] = [];
  let awaited: Awaited = "value";
  let at = skip(blanks, text, 0);
  while (at < text.length) {
    const step = takeToken(text, at, awaited, open);
    if (typeof step === "object") return step;
    awaited = afterToken(text.charAt(at), awaited, open);
    at = skip(blanks, text, step);
  }
  return awaited === "end" ? undefined : { position: text.length, expected: expectations[awaited] };
}

/** The index after the token at `at`, or the fault in it. */
function takeToken(text: string, at: number, awaited: Awaited, open: readonly string[]): number | JsonFault {
  return takerOf(awaited)(text, at, open) ?? { position: at, expected: expectations[awaited] };
}

type Taker = (text: string, at: number, open: readonly string[]) => number | JsonFault | undefined;

function takerOf(awaited: Awaited): Taker {
  switch (awaited) {
    case "value":
      return takeValue;
    case "value-or-]":
      return (text, at) => takeMark(text, at, "]") ?? takeValue(text, at);
    case "key":
      return takeKey;
    case "key-or-}":
      return (text, at) => takeMark(text, at, "}") ?? takeKey(text, at);
    case "colon":
      return (text, at) => takeMark(text, at, ":");
    case "comma-or-end":
      return (text, at, open) =>
        takeMark(text, at, ",") ?? takeMark(text, at, open.at(-1) === "{" ? "}" : "]");
    case "end":
      return () => undefined;
  }
}

function takeMark(text: string, at: number, mark: string): number | undefined {
  return text.charAt(at) === mark ? at + 1 : undefined;
}

function takeKey(text: string, at: number): number | JsonFault | undefined {
  return text.charAt(at) === '"' ? takeString(text, at) : undefined;
}

function takeValue(text: string, at: number): number | JsonFault | undefined {
  const char = text.charAt(at);
  if (char === "{" || char === "[") return at + 1;
  return char === '"' ? takeString(text, at) : takeScalar(text, at);
}

/** What may follow a token that begins with `char`; keeps the stack of open brackets. */
function afterToken(char: string, awaited: Awaited, open: ("{" | "[")[]): Awaited {
  if (char === "}" || char === "]") {
    open.pop();
    return afterValue(open);
  }
  switch (awaited) {
    case "key":
    case "key-or-}":
      return "colon";
    case "colon":
      return "value";
    case "comma-or-end":
      return open.at(-1) === "{" ? "key" : "value";
    case "value":
    case "value-or-]":
      if (char !== "{" && char !== "[") return afterValue(open);
      open.push(char);
      return char === "{" ? "key-or-}" : "value-or-]";
    case "end":
      return "end";
  }
}

function afterValue(open: readonly string[]): Awaited {
  return open.length === 0 ? "end" : "comma-or-end";
}

function takeString(text: string, from: number): number | JsonFault {
  let at = from + 1;
  while (at < text.length) {
    const char = text.charAt(at);
    if (char === '"') return at + 1;
    if (char < " ")
      return { position: at, expected: "an escape in place of a control character in a string" };
    if (char !== "\\") {
      at += 1;
      continue;
    }
    const next = skip(escapeSequence, text, at);
    if (next === at) return escapeFault(text, at);
    at = next;
  }
  return { position: text.length, expected: "the closing quote of a string" };
}

/** An escape that the end of the text cuts off is an early end, not a wrong character. */
function escapeFault(text: string, at: number): JsonFault {
  const cutOff = /^\\(?:u[0-9a-fA-F]{0,3})?$/.test(text.slice(at));
  return { position: cutOff ? text.length : at, expected: "a valid escape in a string" };
}

function takeScalar(text: string, at: number): number | JsonFault | undefined {
  const next = skip(scalar, text, at);
  if (next === text.length) return next;
  if (next !== skip(unfinishedScalar, text, at))
    return { position: text.length, expected: "the rest of a value" };
  return next === at ? undefined : next;
}

/** The index after what the sticky expression takes at `at`. */
function skip(sticky: RegExp, text: string, at: number): number {
  sticky.lastIndex = at;
  return sticky.test(text) ? sticky.lastIndex : at;
}
