/**
 * Understands the handful of requests that the offline model knows, from plain words.
 *
 * Several requests may be joined by "then"; they are taken apart only when each piece is a request by itself, so
 * that a `then` inside a shell command stays where it is.
 */
export type OfflineAction =
  | { readonly kind: "run"; readonly command: string }
  | { readonly kind: "read"; readonly path: string }
  | { readonly kind: "write"; readonly path: string; readonly content: string }
  | { readonly kind: "list"; readonly path: string };

export type OfflineRequest =
  | { readonly kind: "help" }
  | { readonly kind: "actions"; readonly actions: readonly OfflineAction[] }
  | { readonly kind: "unknown" };

/** requests in one message */
const actionsMax = 8;

const politeness = /^(?:(?:please|now|first|can you|could you|would you)[\s,]+)+/iu;
const asksForHelp =
  /^(?:help|hi|hello|hey|what can you do|what are you|who are you|what do you do)\b[\s.!?]*$/iu;

export function parseRequest(text: string): OfflineRequest {
  const trimmed = text.trim();
  if (asksForHelp.test(trimmed.replace(politeness, ""))) return { kind: "help" };
  const pieces = trimmed.split(/[,;]?\s+(?:and\s+)?then\s+/iu);
  const actions = pieces.map(parseAction).filter((action) => action !== undefined);
  if (actions.length === pieces.length && actions.length <= actionsMax) return { kind: "actions", actions };
  const whole = parseAction(trimmed);
  return whole === undefined ? { kind: "unknown" } : { kind: "actions", actions: [whole] };
}

interface Phrase {
  readonly pattern: RegExp;
  readonly toAction: (groups: Readonly<Record<string, string | undefined>>) => OfflineAction;
}

const path = String.raw`(?<path>\x60[^\x60]+\x60|"[^"]+"|'[^']+'|[^\s,]+?)[.!?]?`;
const file = String.raw`(?:the\s+)?(?:file\s+)?`;

/** In order: an earlier phrase wins, so the narrow ones come first. */
const phrases: readonly Phrase[] = [
  phrase(String.raw`(?:run|execute|exec|shell)\s*:\s*(?<command>.+)`, toRun),
  phrase(String.raw`\$\s+(?<command>.+)`, toRun),
  phrase(
    String.raw`(?:run|execute)\s+(?:the\s+)?(?:shell\s+)?(?:command\s+)?\x60(?<command>[^\x60]+)\x60[.!?]*`,
    toRun,
  ),
  phrase(String.raw`(?:run|execute)\s+(?:the\s+)?(?:shell\s+)?(?:command\s+)?(?<command>.+)`, toRun),
  phrase(String.raw`write\s+to\s+${file}${path}\s*:\s*(?<content>.+)`, toWrite),
  phrase(String.raw`(?:write|save|put)\s+(?<content>.+?)\s+(?:in)?to\s+${file}${path}`, toWrite),
  phrase(
    String.raw`create\s+(?:a\s+)?${file}${path}\s+(?:with|containing)\s+(?:the\s+)?(?:content|text|contents)?\s*:?\s*(?<content>.+)`,
    toWrite,
  ),
  phrase(
    String.raw`(?:list|show)\s+(?:me\s+)?(?:the\s+|all\s+)*(?:files|folder|directory)(?:\s+(?:in|of|under)\s+(?:the\s+)?(?:folder\s+|directory\s+)?${path})?[.!?]?`,
    toList,
  ),
  phrase(String.raw`(?:ls|list)(?:\s+${path})?`, toList),
  phrase(String.raw`what\s+files\s+are\s+(?:there|here|in\s+${path})[.!?]?`, toList),
  phrase(
    String.raw`(?:read|show|open|print|cat|display)\s+(?:me\s+)?(?:the\s+contents?\s+of\s+)?${file}${path}`,
    toRead,
  ),
];

function parseAction(text: string): OfflineAction | undefined {
  const request = text.trim().replace(politeness, "");
  for (const { pattern, toAction } of phrases) {
    const groups = pattern.exec(request)?.groups;
    if (groups !== undefined) return toAction(groups);
  }
  return undefined;
}

function phrase(source: string, toAction: Phrase["toAction"]): Phrase {
  return { pattern: new RegExp(`^${source}$`, "isu"), toAction };
}

function toRun(groups: Readonly<Record<string, string | undefined>>): OfflineAction {
  const command = groups.command ?? "";
  const quoted = /^`([^`]+)`[.!?]*$/u.exec(command)?.[1];
  return { kind: "run", command: quoted ?? command.trim() };
}

function toWrite(groups: Readonly<Record<string, string | undefined>>): OfflineAction {
  return { kind: "write", path: unquote(groups.path ?? ""), content: unquote(groups.content ?? "") };
}

function toList(groups: Readonly<Record<string, string | undefined>>): OfflineAction {
  return { kind: "list", path: unquote(groups.path ?? ".") };
}

function toRead(groups: Readonly<Record<string, string | undefined>>): OfflineAction {
  return { kind: "read", path: unquote(groups.path ?? "") };
}

function unquote(text: string): string {
  return /^(["'`])([\s\S]*)\1$/u.exec(text.trim())?.[2] ?? text.trim();
}
