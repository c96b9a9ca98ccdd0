/**
 * The arguments of an earlier call as a provider takes them back.
 *
 * We keep arguments as they were received, which may be no JSON at all, while providers and their chat templates
 * want the text of an object. A good text goes out byte for byte; a bad one goes out inside an object of ours, so
 * that the model sees what it had written. Nothing is repaired.
 */
import { makeSafeJson, makeSafeText } from "./safe-text.ts";

/** names that the provider library refuses in JSON, and then sends the arguments as one quoted string */
const refusedNames = /"(?:__proto__|constructor)"|\\u/u;

export function historyArguments(argsText: string): string {
  if (argsText.trim() === "") return "{}";
  const parsed = parseObject(argsText);
  if (parsed === undefined) return wrapped(argsText);
  if (!refusedNames.test(argsText)) return argsText.isWellFormed() ? argsText : wrapped(argsText);
  return safeArguments(argsText, parsed);
}

/** Called for the few texts with escapes or odd names: what they mean decides, and not how they are written. */
function safeArguments(argsText: string, parsed: object): string {
  const before = JSON.stringify(parsed);
  if (hasRefusedName(parsed)) return wrapped(argsText);
  const safe = JSON.stringify(makeSafeJson(JSON.parse(argsText)));
  return safe === before ? argsText : safe;
}

function hasRefusedName(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).some(
    ([name, item]) => name === "__proto__" || name === "constructor" || hasRefusedName(item),
  );
}

function wrapped(argsText: string): string {
  return JSON.stringify({ unparsedArguments: makeSafeText(argsText) });
}

function parseObject(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
