/**
 * A gateway that answers what a test tells it to: for refusals and outages, which a real host can't be asked for. It
 * keeps one agent and pushes frames by hand.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface FakeRequest {
  readonly command: string;
  readonly authorization: string | undefined;
  readonly body: Readonly<Record<string, unknown>>;
}

export type FakeAnswer = { readonly status?: number; readonly value: unknown };

export interface FakeGateway extends AsyncDisposable {
  readonly url: string;
  readonly env: Readonly<Record<string, string>>;
  readonly requests: readonly FakeRequest[];
  /** answers given by command instead of the usual ones */
  readonly answers: Map<string, FakeAnswer | (() => FakeAnswer)>;
  isRunning: boolean;
  readonly entries: unknown[];
  push(channel: string, payload: Readonly<Record<string, unknown>>, id?: number): void;
  /** the agent's summary as it stands, on the stream */
  pushSummary(): void;
  /** ends every stream, as a killed host would */
  cut(): void;
  readonly streams: readonly string[];
}

const token = "fake-token";
const agentId = "agent-1";

export async function startFakeGateway(): Promise<FakeGateway> {
  const requests: FakeRequest[] = [];
  const streams: string[] = [];
  const open = new Set<ServerResponse>();
  const answers: FakeGateway["answers"] = new Map();
  const entries: unknown[] = [];
  const summary = () => ({ id: agentId, name: "main", isRunning: gateway.isRunning, isActive: true });
  const usual = (command: string): unknown => {
    if (command === "listAgents") return [summary()];
    if (command === "getAgentTranscriptTail") return { entries };
    return command === "sendPrompt" ? { accepted: true } : {};
  };
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? "/", "http://fake");
    if (url.pathname === "/health")
      return answer(response, 200, { ok: true, pid: 1, startedAt: 1, isBusy: false });
    if (url.pathname === "/events") {
      streams.push(`${url.search} last-event-id=${request.headers["last-event-id"] ?? "none"}`);
      const refused = answers.get("/events");
      if (typeof refused === "object") return answer(response, refused.status ?? 200, refused.value);
      response.writeHead(200, { "content-type": "text/event-stream" }).write("retry: 1000\n\n");
      open.add(response);
      response.on("close", () => open.delete(response));
      return;
    }
    void readBody(request).then((body) => {
      const command = url.pathname.replace("/api/", "");
      requests.push({ command, authorization: request.headers.authorization, body });
      const special = answers.get(command);
      const given = typeof special === "function" ? special() : special;
      answer(response, given?.status ?? 200, given === undefined ? usual(command) : given.value);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const push: FakeGateway["push"] = (channel, payload, id) => {
    const frame = `${id === undefined ? "" : `id: ${id}\n`}data: ${JSON.stringify({ channel, payload })}\n\n`;
    for (const stream of open) stream.write(frame);
  };
  const gateway: FakeGateway = {
    url,
    env: { SAND_HOST_GATEWAY_URL: url, SAND_HOST_GATEWAY_TOKEN: token },
    requests,
    answers,
    entries,
    streams,
    isRunning: false,
    push,
    pushSummary: () => push("agent-upserted", { agent: summary(), activeAgentId: agentId }),
    cut: () => {
      for (const stream of open) stream.destroy();
    },
    [Symbol.asyncDispose]: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
  return gateway;
}

function answer(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
}

async function readBody(request: IncomingMessage): Promise<Readonly<Record<string, unknown>>> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of request) chunks.push(chunk as Uint8Array);
  return JSON.parse(Buffer.concat(chunks).toString() || "{}") as Readonly<Record<string, unknown>>;
}
