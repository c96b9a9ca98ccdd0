/**
 * A server that speaks as much of S3 as a box store needs, for error paths only: how it treats conditions is a knob, and
 * it can fail, cut off or change what it answers. What a real server does is shown with a real one, in the proof.
 */
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";

export interface FakeS3Options {
  /**
   * `late` looks at a condition when the request begins and writes when it ends: of two at once both succeed. `ignored`
   * overwrites without a word, `unsupported` answers 501, `plain` wants the version without quotes around it.
   */
  readonly conditions: "honoured" | "plain" | "ignored" | "unsupported" | "late";
}

export interface FakeS3 extends AsyncDisposable {
  readonly endpoint: string;
  readonly objects: Map<string, Buffer>;
  /** asked for each request; what it returns happens instead of the answer, if anything */
  fault: (method: string, key: string) => "fail" | "cut" | "change" | undefined;
  readonly requests: string[];
}

const bucketPath = "/boxes/";
const companyMaxMs = 2_000;

export async function startFakeS3(options: FakeS3Options): Promise<FakeS3> {
  const objects = new Map<string, Buffer>();
  const requests: string[] = [];
  const companies = new Map<string, () => void>();
  const server: Server = createServer((request, response) => {
    void answer(request, response).catch(() => response.destroy());
  });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "/", "http://fake");
    const key = decodeURIComponent(url.pathname.slice(bucketPath.length));
    const method = request.method ?? "";
    requests.push(`${method} ${key}`);
    const fault = fake.fault(method, key);
    if (fault === "fail") return send(response, 503, "<Error><Code>SlowDown</Code></Error>");
    if (fault === "cut") return void request.socket.destroy();
    if (method === "GET" && url.searchParams.has("list-type")) return list(url, response);
    if (method === "GET") return get(request, response, key, fault === "change");
    if (method === "PUT") return await put(request, response, key);
    objects.delete(key);
    send(response, 204, "");
  }

  async function put(request: IncomingMessage, response: ServerResponse, key: string): Promise<void> {
    const before = objects.get(key);
    const parts: Buffer[] = [];
    for await (const part of request) if (Buffer.isBuffer(part)) parts.push(part);
    if (options.conditions === "late") await companyOf(key);
    const at = options.conditions === "late" ? before : objects.get(key);
    const refusal = judge(request, at);
    if (refusal !== undefined) return send(response, refusal, `<Error><Code>C${refusal}</Code></Error>`);
    objects.set(key, Buffer.concat(parts));
    response.setHeader("etag", `"${etagOf(Buffer.concat(parts))}"`);
    send(response, 200, "");
  }

  /** Resolves when somebody else writes the same key at this time, or nobody comes. */
  function companyOf(key: string): Promise<void> {
    const waiting = companies.get(key);
    companies.delete(key);
    if (waiting !== undefined) {
      waiting();
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      companies.set(key, resolve);
      setTimeout(resolve, companyMaxMs);
    });
  }

  function judge(request: IncomingMessage, now: Buffer | undefined): number | undefined {
    const absent = request.headers["if-none-match"];
    const match = request.headers["if-match"];
    if (options.conditions === "ignored" || (absent === undefined && match === undefined)) return undefined;
    if (options.conditions === "unsupported") return 501;
    if (absent !== undefined) return now === undefined ? undefined : 412;
    const etag = now === undefined ? "" : etagOf(now);
    return match === (options.conditions === "plain" ? etag : `"${etag}"`) ? undefined : 412;
  }

  function get(request: IncomingMessage, response: ServerResponse, key: string, change: boolean): void {
    const found = objects.get(key);
    if (found === undefined) {
      send(response, 404, "<Error><Code>NoSuchKey</Code></Error>");
      return;
    }
    response.setHeader("etag", `"${etagOf(found)}"`);
    const range = /^bytes=(\d+)-(\d+)$/u.exec(request.headers.range ?? "");
    const part = range === null ? found : found.subarray(Number(range[1]), Number(range[2]) + 1);
    send(response, range === null ? 200 : 206, change ? Buffer.alloc(part.length, 7) : part);
  }

  /** Two keys a page, so that a reader that stops at the first page is found out. */
  function list(url: URL, response: ServerResponse): void {
    const prefix = url.searchParams.get("prefix") ?? "";
    const after = url.searchParams.get("continuation-token") ?? "";
    const keys = [...objects.keys()].filter((key) => key.startsWith(prefix) && key > after).sort();
    const page = keys.slice(0, 2);
    const rows = page.map(
      (key) => `<Contents><Key>${key}</Key><Size>${objects.get(key)?.length}</Size></Contents>`,
    );
    const more = keys.length > page.length;
    const next = more ? `<NextContinuationToken>${page.at(-1)}</NextContinuationToken>` : "";
    const text = `<ListBucketResult><IsTruncated>${more}</IsTruncated>${next}${rows.join("")}</ListBucketResult>`;
    send(response, 200, `<?xml version="1.0" encoding="UTF-8"?>${text}`);
  }

  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const fake: FakeS3 = {
    endpoint: `http://127.0.0.1:${port}`,
    objects,
    requests,
    fault: () => undefined,
    async [Symbol.asyncDispose]() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
  return fake;
}

function etagOf(bytes: Buffer): string {
  return createHash("md5").update(bytes).digest("hex");
}

function send(response: ServerResponse, status: number, body: string | Buffer): void {
  response.statusCode = status;
  if (typeof body === "string" && body !== "") response.setHeader("content-type", "application/xml");
  response.end(body);
}
