/** The client over a `fetch` that answers by a script. Over a real host: `host/test/client.integration.test.ts`. */
import { expect, test } from "vitest";
import { createClient, type GatewayError, type SandEvent } from "./index.ts";

interface Seen {
  readonly url: string;
  readonly init: RequestInit | undefined;
}

type Reply = (request: Seen) => Response | Promise<Response>;

function scripted(...replies: readonly Reply[]) {
  const seen: Seen[] = [];
  const fake: typeof fetch = async (input, init) => {
    const request = { url: String(input), init };
    const reply = replies[seen.length];
    seen.push(request);
    if (reply === undefined) throw new TypeError("nobody answers");
    return await reply(request);
  };
  return { seen, client: createClient({ baseUrl: "http://box:1/", token: "secret", fetch: fake }) };
}

const json =
  (value: unknown, status = 200) =>
  () =>
    new Response(JSON.stringify(value), { status });
const stream = (text: string) => () =>
  new Response(text, { headers: { "content-type": "text/event-stream" } });

const event = (seq: number) =>
  `id: ${seq}\ndata: ${JSON.stringify({ channel: "transcript", payload: { type: "cleared", agentId: `a${seq}` } })}\n\n`;
const reset = (reason: string, seq: number) =>
  `id: ${seq}\ndata: ${JSON.stringify({ channel: "reset", payload: { reason, lastSeq: seq } })}\n\n`;

async function take(events: AsyncIterable<SandEvent>, count: number): Promise<readonly string[]> {
  const taken: string[] = [];
  for await (const { channel, seq } of events) {
    taken.push(`${channel}:${seq}`);
    if (taken.length === count) break;
  }
  return taken;
}

test("a command is posted with its bearer and body, and gives its value", async () => {
  const { seen, client } = scripted(json(3), json(null));
  expect(await client.countAgents()).toBe(3);
  expect(await client.setAgentUnread({ id: "a", isUnread: true })).toBeNull();
  expect(seen.map(({ url, init }) => [url, init?.method, init?.body])).toEqual([
    ["http://box:1/api/countAgents", "POST", "{}"],
    ["http://box:1/api/setAgentUnread", "POST", '{"id":"a","isUnread":true}'],
  ]);
  expect(seen[0]?.init?.headers).toMatchObject({ authorization: "Bearer secret" });
});

test.each<[Reply, Partial<GatewayError>]>([
  [
    json({ error: "no agent", failureCode: "gateway/agent-not-found" }, 404),
    { message: "no agent", status: 404, failureCode: "gateway/agent-not-found", retry: "never" },
  ],
  [json({ error: "full", failureCode: "store/unavailable" }, 503), { status: 503, retry: "same_nonce" }],
  [json({ message: "old host" }, 400), { message: "old host", failureCode: null, retry: "never" }],
  [() => new Response("<html>", { status: 502 }), { message: "<html>", status: 502, retry: "same_nonce" }],
  [() => new Response("cut", { status: 200 }), { status: 200, retry: "same_nonce" }],
  [() => Promise.reject(new TypeError("refused")), { status: null, retry: "same_nonce" }],
])("a failure says what may be done about it (%#)", async (reply, expected) => {
  const { client } = scripted(reply);
  await expect(client.listAgents()).rejects.toMatchObject(expected);
});

test("a call that is ended by its caller says the caller's reason", async () => {
  const { client } = scripted(({ init }) => Promise.reject(init?.signal?.reason));
  const signal = AbortSignal.abort(new Error("the user left"));
  await expect(client.listAgents({}, { signal })).rejects.toThrow("the user left");
});

test("events go on behind the last one on a new connection, however the old one ended", async () => {
  const { seen, client } = scripted(
    stream(`retry: 1\n\n${event(5)}${event(6)}id: 7\ndata: {"chan`),
    json({ error: "busy", failureCode: "host/shutting-down" }, 503),
    stream(`retry: 1\n\n${event(7)}`),
  );
  const events = client.events({ channels: ["transcript", "turn"], since: 4 });
  expect(await take(events, 3)).toEqual(["transcript:5", "transcript:6", "transcript:7"]);
  const cursors = seen.map(({ url }) => new URL(url).searchParams.get("since"));
  expect(cursors).toEqual(["4", "6", "6"]);
  expect(new URL(seen[0]?.url ?? "").searchParams.get("channels")).toBe("transcript,turn");
});

test("without a cursor events begin now, and what is missed from then on is caught up with", async () => {
  const { seen, client } = scripted(
    stream(`retry: 1\n\n${reset("ahead", 40)}`),
    stream(`retry: 1\n\n${event(41)}${reset("too-old", 60)}${event(61)}`),
  );
  expect(await take(client.events(), 3)).toEqual(["transcript:41", "reset:60", "transcript:61"]);
  expect(new URL(seen[1]?.url ?? "").searchParams.get("since")).toBe("40");
});

test("what no new connection can mend ends the events with it", async () => {
  const { client } = scripted(json({ error: "unauthorized", failureCode: "gateway/unauthorized" }, 401));
  await expect(take(client.events(), 1)).rejects.toMatchObject({ status: 401 });
});

test("an abort ends the events and their connection", async () => {
  const leaving = new AbortController();
  const { seen, client } = scripted(stream(`retry: 1\n\n${event(5)}`));
  const taken: (number | null)[] = [];
  for await (const { seq } of client.events({ since: 4, signal: leaving.signal })) {
    taken.push(seq);
    leaving.abort();
  }
  expect(taken).toEqual([5]);
  expect(seen).toHaveLength(1);
  expect(seen[0]?.init?.signal?.aborted).toBe(true);
});
