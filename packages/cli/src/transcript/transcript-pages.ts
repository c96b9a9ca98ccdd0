/**
 * An agent's transcript in pages. The gateway pages backwards; whoever wants all of it wants the oldest entry first.
 * So the cursors are gathered on the way back, and the pages read again on the way forward: no more than two pages
 * are held at once, however long the conversation.
 */
import { fieldsOf } from "../chat/feed-event.ts";
import { CommandFailure } from "../command-failure.ts";
import type { GatewayClient } from "../gateway/gateway-client.ts";

export type RawEntry = Readonly<Record<string, unknown>>;

export interface TranscriptPage {
  /** oldest first */
  readonly entries: readonly RawEntry[];
  /** absent when there is nothing older */
  readonly nextBeforeSeq: number | undefined;
}

export interface TranscriptOf {
  readonly client: GatewayClient;
  readonly agentId: string;
}

export const pageEntries = 200;
const pagesMax = 100_000;
/** what is read anew after a gap in the events; older than that it is in the transcript, and not shown */
const catchUpMaxPages = 25;

export async function readPage(
  { client, agentId }: TranscriptOf,
  limit: number,
  beforeSeq?: number,
): Promise<TranscriptPage> {
  const cursor = beforeSeq === undefined ? {} : { beforeSeq };
  const page = fieldsOf(await client.call("getAgentTranscriptTail", { id: agentId, limit, ...cursor }));
  const rows: readonly unknown[] = Array.isArray(page.entries) ? page.entries : [];
  const { nextBeforeSeq } = page;
  return {
    entries: rows.map(fieldsOf),
    nextBeforeSeq: typeof nextBeforeSeq === "number" ? nextBeforeSeq : undefined,
  };
}

/** Everything before `beforeSeq`, or up to now, oldest page first. */
export async function* readAllPages(
  of: TranscriptOf,
  beforeSeq?: number,
): AsyncGenerator<readonly RawEntry[], void, undefined> {
  const newest = await readPage(of, pageEntries, beforeSeq);
  const cursors: number[] = [];
  let { nextBeforeSeq } = newest;
  while (nextBeforeSeq !== undefined) {
    cursors.push(nextBeforeSeq);
    if (cursors.length > pagesMax || (cursors.at(-2) ?? Number.POSITIVE_INFINITY) <= nextBeforeSeq)
      throw new CommandFailure("serverError", "the host's pages of the transcript don't come to an end");
    ({ nextBeforeSeq } = await readPage(of, pageEntries, nextBeforeSeq));
  }
  for (const cursor of cursors.toReversed()) yield (await readPage(of, pageEntries, cursor)).entries;
  yield newest.entries;
}

/** The newest entries back to `seq`, oldest first. */
export async function readBackTo(of: TranscriptOf, seq: number): Promise<readonly RawEntry[]> {
  const pages: (readonly RawEntry[])[] = [];
  let before: number | undefined;
  do {
    const page: TranscriptPage = await readPage(of, pageEntries, before);
    pages.unshift(page.entries);
    before = page.nextBeforeSeq;
  } while (before !== undefined && before > seq && pages.length < catchUpMaxPages);
  return pages.flat();
}
