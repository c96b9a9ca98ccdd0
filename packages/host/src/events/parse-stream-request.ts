/** What a client asks of its event stream, from the address and the headers. Malformed wishes are `gateway/bad-request`. */
import { BoxError } from "@sand/protocol";

export interface StreamWishes {
  /** empty: every channel of the contract */
  readonly channels: ReadonlySet<string>;
  /** the cursor to go on from; `undefined`: a strict stream without ids */
  readonly since: number | undefined;
}

const channelsMax = 64;
const cursorPattern = /^\d{1,16}$/u;

export function parseStreamRequest(url: string, lastEventId: string | undefined): StreamWishes {
  const question = url.indexOf("?");
  const query = new URLSearchParams(question < 0 ? "" : url.slice(question + 1));
  // A browser's reconnect repeats the first address and adds its header, so the header is the newer cursor.
  const cursor = lastEventId === undefined || lastEventId === "" ? single(query, "since") : lastEventId;
  return {
    channels: parseChannels(query.getAll("channels")),
    since: cursor === undefined ? undefined : parseCursor(cursor),
  };
}

function parseChannels(lists: readonly string[]): ReadonlySet<string> {
  const names = lists
    .flatMap((list) => list.split(","))
    .map((name) => name.trim())
    .filter((name) => name !== "");
  if (names.length > channelsMax)
    throw new BoxError("gateway/bad-request", `at most ${channelsMax} channels can be named`);
  return new Set(names);
}

function single(query: URLSearchParams, name: string): string | undefined {
  const values = query.getAll(name);
  if (values.length > 1) throw new BoxError("gateway/bad-request", `${name} is given more than once`);
  return values[0];
}

function parseCursor(text: string): number {
  const seq = cursorPattern.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(seq))
    throw new BoxError("gateway/bad-request", "since must be the seq of an event");
  return seq;
}
