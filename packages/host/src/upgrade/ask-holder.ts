/**
 * What a replacement asks of the host that it replaces: to prepare itself. The address and the bearer come from the
 * discovery file, which only the same account can read.
 *
 * Over Node's own HTTP: `fetch` would be loaded for this alone.
 */
import { readFileSync } from "node:fs";
import { type IncomingMessage, request as overHttp } from "node:http";
import { request as overHttps } from "node:https";
import { upgradeLimits } from "./limits.ts";

export interface Holder {
  readonly url: string;
  readonly token: string;
  readonly pid: number;
}

export type HolderAnswer =
  /** it may be asked to end; `runsOn` turns reached no boundary and will resume by their markers */
  | { readonly kind: "prepared"; readonly runsOn: number }
  | { readonly kind: "quiescing"; readonly runningTurns: number }
  /** it ends already, or isn't up yet: its lock is what counts */
  | { readonly kind: "silent" }
  | { readonly kind: "refused"; readonly status: number };

/** The host that the discovery file names. */
export function readHolder(discoveryFile: string): Holder | undefined {
  try {
    const found = Object(JSON.parse(readFileSync(discoveryFile, "utf8")));
    const { scheme, host, port, token, pid } = found;
    if (typeof port !== "number" || typeof pid !== "number" || typeof host !== "string") return undefined;
    const name = host.includes(":") ? `[${host}]` : host;
    const url = `${scheme === "https" ? "https" : "http"}://${name}:${port}`;
    return { url, token: typeof token === "string" ? token : "", pid };
  } catch {
    // None yet, none any more, or just being replaced.
    return undefined;
  }
}

/** `certificate`: what a holder with TLS must show; it is the same that this host will show. */
export async function askHolder(holder: Holder, certificate: string | null): Promise<HolderAnswer> {
  try {
    const { status, text } = await post(holder, certificate);
    if (status === 503) return { kind: "silent" };
    if (status !== 200) return { kind: "refused", status };
    return readAnswer(text);
  } catch {
    // Refused, cut off or too slow; whether it still holds the lock is looked at next.
    return { kind: "silent" };
  }
}

function readAnswer(text: string): HolderAnswer {
  const { quiescing, runningTurns } = Object(JSON.parse(text));
  const turns = Number(runningTurns);
  return quiescing === true
    ? { kind: "quiescing", runningTurns: turns }
    : { kind: "prepared", runsOn: turns };
}

function post(holder: Holder, certificate: string | null): Promise<{ status: number; text: string }> {
  const url = new URL("/prepare-upgrade", holder.url);
  const options = {
    method: "POST",
    agent: false,
    headers: holder.token === "" ? {} : { authorization: `Bearer ${holder.token}` },
    signal: AbortSignal.timeout(upgradeLimits.answerMaxMs),
  } as const;
  return new Promise((resolve, reject) => {
    const onAnswer = (response: IncomingMessage): void => {
      readText(response).then((text) => resolve({ status: response.statusCode ?? 0, text }), reject);
    };
    // The certificate is pinned, so it doesn't matter that it names another host than this address.
    const pinned = certificate === null ? {} : { ca: certificate, checkServerIdentity: () => undefined };
    const sent =
      url.protocol === "https:"
        ? overHttps(url, { ...options, ...pinned }, onAnswer)
        : overHttp(url, options, onAnswer);
    sent.on("error", reject);
    sent.end();
  });
}

async function readText(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response) {
    const piece = Buffer.from(chunk);
    bytes += piece.length;
    if (bytes > upgradeLimits.answerMaxBytes) throw new Error("the answer is too long for a host's");
    chunks.push(piece);
  }
  return Buffer.concat(chunks).toString("utf8");
}
