/**
 * Reads a shell command and says what it seems to do: what it writes by redirection, what it deletes, where it goes on
 * the network. That is advice for whoever reviews a command, and never a fence: a shell can hide anything, and what is
 * hidden is said only as `isDynamic`. The fence is the enclosure.
 *
 * The parser is a megabyte of WebAssembly, so it is loaded with the first command that is asked about.
 */
import type { Node, Parser } from "web-tree-sitter";
import { readGrammar } from "./carried-grammar.ts";
import { classifyCommand } from "./classify-command.ts";

export interface CommandAdvice {
  /** false: it isn't a whole shell text, and the rest is what could be read of it */
  readonly isUnderstood: boolean;
  /** part of it is only known when it runs: substitutions, variables as programs, text that is evaluated */
  readonly isDynamic: boolean;
  readonly programs: readonly string[];
  readonly redirects: readonly { readonly path: string; readonly kind: "write" | "append" | "read" }[];
  readonly deletes: readonly string[];
  readonly network: readonly string[];
}

const textMaxChars = 64 * 1024;
const listMax = 200;
/** shells within shells */
const depthMax = 3;

interface Findings {
  isUnderstood: boolean;
  isDynamic: boolean;
  readonly programs: Set<string>;
  readonly redirects: { path: string; kind: "write" | "append" | "read" }[];
  readonly deletes: Set<string>;
  readonly network: Set<string>;
}

let loading: Promise<Parser> | undefined;

export async function adviseCommand(text: string): Promise<CommandAdvice> {
  loading ??= loadParser();
  const findings: Findings = {
    ...{ isUnderstood: text.length <= textMaxChars, isDynamic: false, redirects: [] },
    ...{ programs: new Set(), deletes: new Set(), network: new Set() },
  };
  read(await loading, text.slice(0, textMaxChars), findings, 0);
  const list = (found: ReadonlySet<string>): readonly string[] => [...found].slice(0, listMax);
  return {
    isUnderstood: findings.isUnderstood,
    isDynamic: findings.isDynamic,
    programs: list(findings.programs),
    redirects: findings.redirects.slice(0, listMax),
    deletes: list(findings.deletes),
    network: list(findings.network),
  };
}

async function loadParser(): Promise<Parser> {
  const { Language, Parser } = await import("web-tree-sitter");
  const { runtime, bash } = readGrammar();
  await Parser.init({ wasmBinary: runtime });
  const parser = new Parser();
  parser.setLanguage(await Language.load(bash));
  return parser;
}

function read(parser: Parser, text: string, findings: Findings, depth: number): void {
  const tree = parser.parse(text);
  if (tree === null) {
    findings.isUnderstood = false;
    return;
  }
  try {
    if (tree.rootNode.hasError) findings.isUnderstood = false;
    const inner: string[] = [];
    for (const node of tree.rootNode.descendantsOfType([
      "command",
      "file_redirect",
      "command_substitution",
    ])) {
      if (node.type === "command") readCommand(node, findings, inner);
      else if (node.type === "file_redirect") readRedirect(node, findings);
      else findings.isDynamic = true;
    }
    for (const script of inner) {
      if (depth < depthMax) read(parser, script, findings, depth + 1);
      else findings.isDynamic = true;
    }
  } finally {
    tree.delete();
  }
}

function readCommand(node: Node, findings: Findings, inner: string[]): void {
  const words = node.namedChildren
    .filter((child) => !["variable_assignment", "file_redirect", "herestring_redirect"].includes(child.type))
    .map((child) => plainText(child));
  const found = classifyCommand(words);
  for (const program of found.programs) findings.programs.add(program);
  for (const path of found.deletes) findings.deletes.add(path);
  for (const place of found.network) findings.network.add(place);
  if (found.isDynamic) findings.isDynamic = true;
  inner.push(...found.scripts);
}

function readRedirect(node: Node, findings: Findings): void {
  const destination = node.childForFieldName("destination");
  const operator = node.children.map(({ type }) => type).find((type) => /[<>]/u.test(type)) ?? ">";
  const path = destination === null ? "" : (plainText(destination) ?? "");
  const kind = operator.includes(">>") ? "append" : operator.includes(">") ? "write" : "read";
  // A copy of a descriptor names no file.
  if (/^\d*-?$/u.test(path)) return;
  findings.redirects.push({ path, kind });
  const place = /^\/dev\/(?:tcp|udp)\/([^/]+)\/(.+)$/u.exec(path);
  if (place !== null) findings.network.add(`${place[1]}:${place[2]}`);
}

/** The word without its quotes; undefined when it is only known at run time. */
function plainText(node: Node): string | undefined {
  if (/expansion|substitution|process/u.test(node.type)) return undefined;
  if (node.descendantsOfType(["simple_expansion", "expansion", "command_substitution"]).length > 0)
    return undefined;
  if (node.type === "command_name" && node.firstNamedChild !== null) return plainText(node.firstNamedChild);
  const { text } = node;
  if (node.type === "raw_string" || node.type === "string") return text.slice(1, -1);
  return node.type === "concatenation" ? text.replace(/["']/gu, "") : text.replace(/\\(.)/gu, "$1");
}
