/** A server over HTTP as it is configured, and the part of the check that is about HTTP. Pure. */
import { BoxError } from "@sand/protocol";

export interface OAuthConfig {
  readonly clientId: string;
  /** name of the secret; empty for a public client */
  readonly clientSecret: string;
  readonly scope: string;
}

export interface HttpConfig {
  readonly kind: "http";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** header → name of the secret */
  readonly secretHeaders: Readonly<Record<string, string>>;
  readonly oauth: OAuthConfig | undefined;
}

const headerPattern = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/u;
const urlMaxChars = 4096;
const namesMax = 128;
const valuesMaxChars = 64 * 1024;
/** set by the transport, or decided by the login */
const ownHeaders: ReadonlySet<string> = new Set([
  ...["accept", "connection", "content-length", "content-type", "host", "last-event-id"],
  ...["mcp-protocol-version", "mcp-session-id", "transfer-encoding"],
]);

export function validateHttp(id: string, { url, headers, secretHeaders }: HttpConfig): void {
  const parsed = url.length <= urlMaxChars && URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined || !["http:", "https:"].includes(parsed.protocol))
    throw invalid(id, "the URL is none of http or https");
  if (parsed.username !== "" || parsed.password !== "")
    throw invalid(id, "a URL holds no password: use a secret header");
  validateNames(id, headers, headerPattern);
  validateNames(id, secretHeaders, headerPattern);
  for (const name of [...Object.keys(headers), ...Object.keys(secretHeaders)])
    if (ownHeaders.has(name.toLowerCase())) throw invalid(id, `the header ${name} can't be set`);
  for (const value of Object.values(headers))
    if (!/^[\t\x20-\x7e\x80-\xff]*$/u.test(value)) throw invalid(id, "a header's value can't be sent");
}

export function validateNames(id: string, names: Readonly<Record<string, string>>, pattern: RegExp): void {
  const entries = Object.entries(names);
  if (entries.length > namesMax) throw invalid(id, "too many names");
  if (entries.flat().join("").length > valuesMaxChars) throw invalid(id, "it is too long");
  if (entries.some(([name]) => !pattern.test(name))) throw invalid(id, "a name can't be used");
}

function invalid(id: string, problem: string): BoxError {
  return new BoxError("exec/invalid", `the MCP server ${id}: ${problem}`);
}

/** Names that can only mean this machine. */
export function isLoopback(url: URL): boolean {
  return ["127.0.0.1", "[::1]", "localhost"].includes(url.hostname);
}
