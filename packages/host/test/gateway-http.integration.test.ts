import { request as httpRequest } from "node:http";
import type { TranscriptEntry } from "@sand/protocol";
import { builtCommands, plannedCommandNames } from "@sand/protocol";
import { describe, expect, test } from "vitest";
import { createGatewayWorld, token } from "./gateway-world.ts";
import { startedAt } from "./memory-ports.ts";

const bearer = `authorization: Bearer ${token}\r\n`;

async function outcome(response: Response): Promise<{ status: number; body: unknown }> {
  return { status: response.status, body: await response.json() };
}

/** fetch hides some headers and decodes; this shows what is on the wire */
function rawPost(url: string, headers: Record<string, string>, body: string) {
  return new Promise<{ headers: NodeJS.Dict<string | string[]>; size: number }>((resolve, reject) => {
    const request = httpRequest(url, { method: "POST", headers }, (response) => {
      let size = 0;
      response.on("data", (chunk: Buffer) => (size += chunk.length));
      response.on("end", () => resolve({ headers: response.headers, size }));
    });
    request.on("error", reject);
    request.end(body);
  });
}

describe("who may speak", () => {
  test("health answers without a bearer, with a wrong one and with the right one", async () => {
    await using world = await createGatewayWorld();
    const expected = {
      ok: true,
      pid: process.pid,
      isBusy: false,
      activeAgentId: null,
      startedAt,
      lastBusyAtMs: null,
      busyOnlyAwaitingApproval: false,
    };
    for (const authorization of ["", "Bearer wrong", `Bearer ${token}`]) {
      expect(await outcome(await world.get("/health", { authorization }))).toEqual({
        status: 200,
        body: expected,
      });
    }
  });

  test("a wrong or missing bearer is 401 on every other route, known or not", async () => {
    await using world = await createGatewayWorld();
    const body = { error: "unauthorized", failureCode: "gateway/unauthorized" };
    for (const path of ["/events", "/avatars/a", "/local-exec/requests", "/nowhere", "/api/listAgents"]) {
      expect(await outcome(await world.get(path, { authorization: "Bearer wrong" }))).toEqual({
        status: 401,
        body,
      });
    }
    expect(await outcome(await world.post("listAgents", {}, { authorization: "" }))).toEqual({
      status: 401,
      body,
    });
  });

  test("an origin is 403 with the contract's text on every route, health too", async () => {
    await using world = await createGatewayWorld();
    for (const line of [
      "GET /health",
      "GET /events",
      "POST /api/listAgents",
      "GET /nowhere",
      "OPTIONS /api/x",
      "GET /%zz",
    ]) {
      const answer = await world.raw(
        `${line} HTTP/1.1\r\nhost: x\r\n${bearer}origin: https://page.example\r\n\r\n`,
      );
      expect(answer).toMatch(/^HTTP\/1\.1 403 /u);
      expect(answer).toContain('"error":"browser-origin gateway requests are not allowed"');
      expect(answer).not.toContain("access-control");
    }
  });

  test("without a token only loopback names are believed", async () => {
    await using world = await createGatewayWorld({ token: null });
    expect((await world.get("/api/x", { authorization: "" })).status).toBe(404);
    const answer = await world.raw(
      "POST /api/listAgents HTTP/1.1\r\nhost: page.example\r\ncontent-length: 0\r\n\r\n",
    );
    expect(answer).toMatch(/^HTTP\/1\.1 403 /u);
    expect(answer).toContain("untrusted gateway host");
  });
});

describe("answers", () => {
  test("the content type has no charset, the request's id comes back, and success says that nonces are known", async () => {
    await using world = await createGatewayWorld();
    const response = await world.post("listAgents", {}, { "x-sand-request-id": "my-id-1" });
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "content-type": "application/json",
      "x-sand-request-id": "my-id-1",
      "x-sand-mint-dedupe": "1",
    });
    expect(await response.text()).toBe("[]");
  });

  test("an error has no mark of success, and a fresh request id when the client's can't be used", async () => {
    await using world = await createGatewayWorld();
    const response = await world.post("nope", {}, { "x-sand-request-id": "x".repeat(200) });
    expect(response.headers.get("x-sand-mint-dedupe")).toBeNull();
    expect(response.headers.get("x-sand-request-id")).toMatch(/^[0-9a-f-]{36}$/u);
  });

  test("an unknown command is 404 and names itself; a listed one that is not built is 501", async () => {
    await using world = await createGatewayWorld();
    for (const name of ["nope", "__proto__", "constructor", "uploadAttachmentStream"]) {
      const body = { error: `unknown gateway method: ${name}`, failureCode: "gateway/unknown-method" };
      expect(await outcome(await world.post(name, {}))).toEqual({ status: 404, body });
    }
    for (const name of plannedCommandNames) {
      const body = { error: `${name} is not built yet`, failureCode: "gateway/not-implemented" };
      expect(await outcome(await world.post(name, "not json"))).toEqual({ status: 501, body });
    }
  });

  test("a command that nobody takes is answered before its body comes", async () => {
    await using world = await createGatewayWorld();
    const head = `HTTP/1.1\r\nhost: x\r\n${bearer}content-length: 300000000\r\n\r\n`;
    expect(await world.raw(`POST /api/uploadAttachment ${head}`)).toMatch(/^HTTP\/1\.1 501 /u);
    expect(await world.raw(`POST /api/nope ${head}`)).toMatch(/^HTTP\/1\.1 404 /u);
  });

  test("an unknown path and a known path with another method are 404", async () => {
    await using world = await createGatewayWorld();
    const lines = [
      "GET /",
      "GET /api/listAgents",
      "PUT /api/listAgents",
      "DELETE /events",
      "HEAD /events",
      "POST /health",
      "OPTIONS /api/x",
    ];
    for (const line of lines) {
      const answer = await world.raw(`${line} HTTP/1.1\r\nhost: x\r\n${bearer}content-length: 0\r\n\r\n`);
      expect(answer, line).toMatch(/^HTTP\/1\.1 404 /u);
    }
  });

  test("a large answer is compressed for who accepts it, a small one never", async () => {
    await using world = await createGatewayWorld();
    const headers = { authorization: `Bearer ${token}`, "accept-encoding": "gzip" };
    const url = `${world.gateway.url}/api/listAgents`;
    expect((await rawPost(url, headers, "{}")).headers["content-encoding"]).toBeUndefined();
    for (let index = 0; index < 5; index += 1)
      await world.post("createAgent", { name: `n${index}`, description: "d" });
    const packed = await rawPost(url, headers, "{}");
    const plain = await rawPost(url, { authorization: headers.authorization }, "{}");
    expect(packed.headers).toMatchObject({ "content-encoding": "gzip", vary: "Accept-Encoding" });
    expect(plain.headers["content-encoding"]).toBeUndefined();
    expect(plain.size).toBeGreaterThan(1_400);
    expect(packed.size).toBeLessThan(plain.size);
    expect(await (await world.post("listAgents")).json()).toHaveLength(5);
  });

  test("a bug is 500 without a stack or a detail, which are in the log under the request's id", async () => {
    await using world = await createGatewayWorld({
      onStatus: () => {
        throw new Error("planted secret detail");
      },
    });
    const response = await world.post("getHostStatus", {}, { "x-sand-request-id": "bug-1" });
    const body = { error: "internal error", failureCode: "gateway/internal" };
    expect(await outcome(response)).toEqual({ status: 500, body });
    expect(
      world.logLines.some((line) => line.includes("bug-1") && line.includes("planted secret detail")),
    ).toBe(true);
  });

  test("neither the token nor a prompt is ever logged", async () => {
    await using world = await createGatewayWorld();
    await world.post("createAgent", { name: "n", description: "d" });
    await world.post("sendPrompt", { prompt: "planted-prompt" });
    await world.post("sendPrompt", "planted-prompt");
    const log = world.logLines.join("");
    expect(log).toContain("gateway.request");
    expect(log).not.toContain("planted-prompt");
    expect(log).not.toContain(token);
  });
});

describe("bodies", () => {
  test.each([
    ["not JSON", "{"],
    ["a list", "[]"],
    ["a string", '"x"'],
    ["null", "null"],
    ["a number", "1"],
    ["a byte order mark", "\ufeff{}"],
    ["two values", "{}{}"],
  ])("%s is 400", async (_what, body) => {
    await using world = await createGatewayWorld();
    const response = await world.post("listAgents", body);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ failureCode: "gateway/bad-request" });
  });

  test("broken UTF-8 is 400, since the text would not be what was sent", async () => {
    await using world = await createGatewayWorld();
    const body = '{"prompt":"\xff"}';
    const head = `POST /api/sendPrompt HTTP/1.1\r\nhost: x\r\n${bearer}content-length: ${body.length}\r\n\r\n`;
    const answer = await world.raw(head + body);
    expect(answer).toMatch(/^HTTP\/1\.1 400 /u);
    expect(answer).toContain("the body is not UTF-8");
  });

  test("no body and an empty body count as an empty object, whatever the content type says", async () => {
    await using world = await createGatewayWorld();
    for (const type of [
      "application/json",
      "text/plain",
      "application/octet-stream",
      "nonsense",
      "multipart/form-data",
    ]) {
      expect((await world.post("countAgents", undefined, { "content-type": type })).status).toBe(200);
      expect((await world.post("countAgents", "", { "content-type": type })).status).toBe(200);
      expect((await world.post("countAgents", "{}", { "content-type": type })).status).toBe(200);
    }
  });

  test("a body over the limit is 413, declared or not", async () => {
    await using world = await createGatewayWorld({ limits: { bodyMaxBytes: 1_000 } });
    const body = JSON.stringify({ prompt: "x".repeat(2_000) });
    expect(await outcome(await world.post("sendPrompt", body))).toEqual({
      status: 413,
      body: { error: "the body is too large", failureCode: "gateway/body-too-large" },
    });
    const chunk = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
    const head = `POST /api/sendPrompt HTTP/1.1\r\nhost: x\r\n${bearer}transfer-encoding: chunked\r\n\r\n`;
    expect(await world.raw(head + chunk)).toMatch(/^HTTP\/1\.1 413 /u);
  });

  test.each([
    ["no HTTP at all", "hello\r\n\r\n"],
    ["a broken header", `GET /health HTTP/1.1\r\nhost: x\r\nbad header\r\n\r\n`],
    ["two lengths", `POST /api/x HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n`],
    [
      "a length and chunks",
      `POST /api/x HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n`,
    ],
    [
      "a broken chunk",
      `POST /api/countAgents HTTP/1.1\r\nhost: x\r\n${bearer}transfer-encoding: chunked\r\n\r\nzz\r\n`,
    ],
    ["a broken address", `GET /%zz HTTP/1.1\r\nhost: x\r\n${bearer}\r\n`],
  ])("%s is 400 with a body of ours", async (_what, text) => {
    await using world = await createGatewayWorld();
    const answer = await world.raw(text);
    expect(answer).toMatch(/^HTTP\/1\.1 400 /u);
    expect(answer).toContain('"failureCode":"gateway/bad-request"');
    expect(answer).not.toMatch(/at .*\.[jt]s:|node_modules/u);
    expect((await world.get("/health")).status).toBe(200);
  });

  test("headers that are too large are 431", async () => {
    await using world = await createGatewayWorld();
    expect(await world.raw(`GET /health HTTP/1.1\r\nhost: x\r\nx: ${"y".repeat(40_000)}\r\n\r\n`)).toMatch(
      /^HTTP\/1\.1 431 /u,
    );
  });

  test("a client that leaves in the middle of its body disturbs nobody", async () => {
    await using world = await createGatewayWorld();
    await world.raw(`POST /api/countAgents HTTP/1.1\r\nhost: x\r\n${bearer}content-length: 100\r\n\r\n{`, 50);
    expect((await world.get("/health")).status).toBe(200);
    expect(world.logLines.some((line) => line.includes("gateway.failed"))).toBe(false);
  });
});

describe("commands", () => {
  test("every built command without its required fields is 400 or answers, and never fails", async () => {
    await using world = await createGatewayWorld();
    for (const name of Object.keys(builtCommands)) {
      // 409: the box store is off here.
      for (const body of [{}, { id: 1 }, { id: "a", ids: [null] }, { prompt: [] }]) {
        expect([200, 400, 404, 409]).toContain((await world.post(name, body)).status);
      }
    }
  });

  test("createAgent answers the agent, and its nonce makes one agent only", async () => {
    await using world = await createGatewayWorld();
    const request = { name: "Ada", description: "counts", clientNonce: "c1" };
    const first = await outcome(await world.post("createAgent", request));
    expect(first).toMatchObject({ status: 200, body: { agent: { name: "Ada", isRunning: false } } });
    expect(await outcome(await world.post("createAgent", { ...request, metadata: 1 }))).toEqual(first);
    expect(await outcome(await world.post("createAgent", { ...request, name: "Bob" }))).toMatchObject({
      status: 409,
      body: { failureCode: "gateway/nonce-conflict" },
    });
    expect(await (await world.post("countAgents")).json()).toBe(1);
  });

  test("updateAgent answers the row, or null for an agent that is not there", async () => {
    await using world = await createGatewayWorld();
    const { agent } = (await (await world.post("createAgent", { name: "n", description: "d" })).json()) as {
      agent: { id: string };
    };
    const profile = { name: "m", description: "e" };
    expect(await (await world.post("updateAgent", { id: agent.id, profile })).json()).toMatchObject({
      id: agent.id,
      name: "m",
    });
    expect(await (await world.post("updateAgent", { id: "gone", profile })).json()).toBeNull();
  });

  test("deleteAgent and deleteAgents answer the transcript of the agent that is active now", async () => {
    await using world = await createGatewayWorld();
    const { agent } = (await (await world.post("createAgent", { name: "n", description: "d" })).json()) as {
      agent: { id: string };
    };
    expect(await (await world.post("deleteAgent", { id: agent.id })).json()).toEqual({ transcript: [] });
    expect(await (await world.post("deleteAgents", { ids: [agent.id] })).json()).toEqual({ transcript: [] });
    expect(await (await world.post("listAgents")).json()).toEqual([]);
  });

  test.each(["../x", "a/b", "a\\b", "..", ".", " a", "a\u0000b"])("the agent id %j is unsafe", async (id) => {
    await using world = await createGatewayWorld();
    for (const [name, body] of [
      ["deleteAgent", { id }],
      ["openAgentTail", { id }],
      ["sendPrompt", { prompt: "x", agentId: id }],
    ] as const) {
      const response = await world.post(name, body);
      expect(await outcome(response)).toEqual({
        status: 400,
        body: { error: "unsafe agent id", failureCode: "gateway/unsafe-agent-id" },
      });
    }
  });

  test("an agent that is not there is 404 for what reads it", async () => {
    await using world = await createGatewayWorld();
    for (const name of [
      "getAgentTranscriptTail",
      "openAgentTail",
      "getSubagents",
      "getAsyncTasks",
      "interruptAgentRun",
    ]) {
      expect(await outcome(await world.post(name, { id: "gone" }))).toMatchObject({
        status: 404,
        body: { failureCode: "gateway/agent-not-found" },
      });
    }
  });

  test("pictures are left out of summaries for who asks for slim ones", async () => {
    await using world = await createGatewayWorld();
    const slim = { "x-sand-slim-avatars": "1" };
    const made = await (await world.post("createAgent", { name: "n", description: "d" }, slim)).json();
    expect(made).toMatchObject({ agent: { avatarDataUrl: null } });
    expect(await (await world.post("listAgents", {}, slim)).json()).toMatchObject([{ avatarDataUrl: null }]);
    expect(await (await world.post("listAgents", {})).json()).toMatchObject([
      { avatarDataUrl: "data:image/png;base64,AAAA" },
    ]);
  });

  test("a transcript is paged backwards, and the last page has no cursor", async () => {
    await using world = await createGatewayWorld();
    const { agent } = (await (await world.post("createAgent", { name: "n", description: "d" })).json()) as {
      agent: { id: string };
    };
    for (let index = 1; index <= 5; index += 1) world.entries.push(entry(`e${index}`));
    const page = async (body: object) => {
      const read = (await (await world.post("getAgentTranscriptTail", { id: agent.id, ...body })).json()) as {
        entries: { id: string; seq: number }[];
        nextBeforeSeq?: number;
      };
      return { ids: read.entries.map((row) => row.id), next: read.nextBeforeSeq };
    };
    expect(await page({ limit: 2 })).toEqual({ ids: ["e4", "e5"], next: 4 });
    expect(await page({ limit: 2, beforeSeq: 4 })).toEqual({ ids: ["e2", "e3"], next: 2 });
    expect(await page({ limit: 2, beforeSeq: 2 })).toEqual({ ids: ["e1"], next: undefined });
    expect(await page({ limit: 1_000_000 })).toMatchObject({ ids: ["e1", "e2", "e3", "e4", "e5"] });
    expect(await (await world.post("getTranscript")).json()).toHaveLength(5);
  });

  test("openAgentTail makes the agent active", async () => {
    await using world = await createGatewayWorld();
    await world.post("createAgent", { name: "n", description: "d" });
    const { agent } = (await (await world.post("createAgent", { name: "m", description: "d" })).json()) as {
      agent: { id: string };
    };
    expect(await (await world.post("openAgentTail", { id: agent.id })).json()).toEqual({ entries: [] });
    expect(await (await world.get("/health")).json()).toMatchObject({ activeAgentId: agent.id });
  });
});

describe("prompts", () => {
  async function worldWithAgent() {
    const world = await createGatewayWorld();
    await world.post("createAgent", { name: "n", description: "d" });
    return world;
  }

  test("a prompt is accepted once for each nonce, and another payload under it is a conflict", async () => {
    await using world = await worldWithAgent();
    const prompt = { prompt: "do it", clientNonce: "n1", enterEpochMs: 1 };
    const accepted = { status: 200, body: { accepted: true } };
    expect(await outcome(await world.post("sendPrompt", prompt))).toEqual(accepted);
    expect(
      await outcome(await world.post("sendPrompt", { ...prompt, enterEpochMs: 2, source: "mobile" })),
    ).toEqual(accepted);
    expect(await outcome(await world.post("sendPrompt", { ...prompt, prompt: "other" }))).toMatchObject({
      status: 409,
      body: { failureCode: "gateway/nonce-conflict" },
    });
    expect(world.prompts.size).toBe(1);
  });

  test("prompts without a nonce get one each, so the same words twice are two prompts", async () => {
    await using world = await worldWithAgent();
    await world.post("sendPrompt", { prompt: "again" });
    await world.post("sendPrompt", { prompt: "again" });
    expect(world.prompts.size).toBe(2);
  });

  test("the text is unchanged, whatever is in it", async () => {
    await using world = await worldWithAgent();
    const prompt = '  zwei\r\nZeilen \u2028 \u{1f600} {"a":1} ';
    await world.post("sendPrompt", { prompt, clientNonce: "n" });
    expect(world.prompts.get("n")?.text).toBe(prompt);
  });

  test.each([[""], [" \n\t"]])("an empty prompt is 400 (%j)", async (prompt) => {
    await using world = await worldWithAgent();
    expect((await world.post("sendPrompt", { prompt })).status).toBe(400);
    expect(world.prompts.size).toBe(0);
  });

  test("a prompt with attachments is refused whole, and a prompt that no frame can carry as well", async () => {
    await using world = await worldWithAgent();
    const attached = await world.post("sendPrompt", { prompt: "see", attachmentPaths: ["a.txt"] });
    expect(await outcome(attached)).toMatchObject({
      status: 501,
      body: { failureCode: "gateway/not-implemented" },
    });
    expect((await world.post("sendPrompt", { prompt: "\u0001".repeat(100_000) })).status).toBe(413);
    expect(world.prompts.size).toBe(0);
  });

  test("what became of a prompt is found by its nonce", async () => {
    await using world = await worldWithAgent();
    await world.post("sendPrompt", { prompt: "x", clientNonce: "n1" });
    const query = { accountSlot: "host", clientNonce: "n1" };
    expect(await (await world.post("promptAcceptanceStatus", query)).json()).toMatchObject({
      outcome: "found",
      record: { clientNonce: "n1", status: "accepted", accountSlot: "host" },
    });
    expect(
      await (await world.post("promptAcceptanceStatus", { ...query, clientNonce: "n2" })).json(),
    ).toEqual({
      outcome: "not-found",
    });
    expect((await world.post("promptAcceptanceStatus", { ...query, accountSlot: "other" })).status).toBe(400);
  });
});

describe("routes whose feature is off", () => {
  test("queues and avatars are not found, and nothing quiesces", async () => {
    await using world = await createGatewayWorld();
    for (const queue of ["local-exec", "webauthn", "cookie-origin-approval"]) {
      expect((await world.get(`/${queue}/requests`)).status).toBe(404);
    }
    expect((await world.get("/avatars/a?v=1")).status).toBe(404);
    const upgrade = await fetch(`${world.gateway.url}/prepare-upgrade`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}` },
    });
    expect(await outcome(upgrade)).toEqual({ status: 200, body: { quiescing: false, runningTurns: 0 } });
  });

  test("queues need a configured token", async () => {
    await using world = await createGatewayWorld({ token: null });
    expect((await world.get("/local-exec/requests", { authorization: "" })).status).toBe(401);
  });
});

function entry(id: string): TranscriptEntry {
  return { kind: "message", id, role: "user", content: id, timestampMs: 1 } as unknown as TranscriptEntry;
}
