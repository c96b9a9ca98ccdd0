/** TLS by the contract's variables, over the real host. */
import { readFileSync, writeFileSync } from "node:fs";
import { type RequestOptions, request } from "node:https";
import { join } from "node:path";
import { createTempFolder, fieldOf } from "@sand/testkit";
import { expect, test } from "vitest";
import { readConfig } from "../src/config.ts";
import { makeSelfSigned, type SelfSigned } from "./self-signed-certificate.ts";
import { startTestHost, type TestHost } from "./turn-host.ts";

interface Answer {
  readonly status: number;
  readonly body: string;
}

/** Posts, or reads an event stream up to its first event; the certificate must be the one that we made. */
function ask(
  host: TestHost,
  path: string,
  more: RequestOptions & { readonly body?: string },
): Promise<Answer> {
  const { body, ...options } = more;
  return new Promise((resolve, reject) => {
    const outgoing = request(`${host.access().url}${path}`, { agent: false, ...options });
    outgoing.on("error", reject);
    outgoing.on("response", (response) => {
      let text = "";
      const end = () => resolve({ status: response.statusCode ?? 0, body: text });
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => {
        text += chunk;
        if (path.startsWith("/events") && text.includes("data: ")) outgoing.destroy();
      });
      response.on("error", () => undefined);
      response.on("close", end);
    });
    outgoing.end(body);
  });
}

async function writeFiles({ cert, key }: SelfSigned) {
  const folder = await createTempFolder("tls");
  writeFileSync(join(folder.path, "cert.pem"), cert);
  writeFileSync(join(folder.path, "key.pem"), key, { mode: 0o600 });
  const env = {
    SAND_GATEWAY_TLS_CERT: join(folder.path, "cert.pem"),
    SAND_GATEWAY_TLS_KEY: join(folder.path, "key.pem"),
  };
  return { env, [Symbol.asyncDispose]: () => folder.remove() };
}

test("with certificate and key the gateway speaks TLS only, and the discovery file says so", async () => {
  const made = makeSelfSigned();
  await using files = await writeFiles(made);
  await using host = await startTestHost({
    script: { rules: [], otherwise: { text: "ok" } },
    env: files.env,
  });
  const { url, token } = host.access();
  const discovery: unknown = JSON.parse(readFileSync(join(host.dataRoot, "gateway.json"), "utf8"));
  expect(discovery).toMatchObject({ scheme: "https", host: "127.0.0.1", port: Number(new URL(url).port) });

  const headers = { authorization: `Bearer ${token}` };
  const health = await ask(host, "/health", { ca: made.cert });
  expect([health.status, fieldOf(JSON.parse(health.body), "ok")]).toEqual([200, true]);
  const body = JSON.stringify({ name: "ann", description: "" });
  const created = await ask(host, "/api/createAgent", { ca: made.cert, method: "POST", headers, body });
  expect(created.status).toBe(200);
  const stream = await ask(host, "/events?since=0", { ca: made.cert, headers });
  expect(stream.body).toContain('data: {"channel":"agent');
  const refused = await ask(host, "/api/listAgents", { ca: made.cert, method: "POST" });
  expect(refused.status).toBe(401);

  // A client that doesn't know the certificate, and one that speaks plain HTTP, get nothing.
  await expect(ask(host, "/health", {})).rejects.toMatchObject({ code: "DEPTH_ZERO_SELF_SIGNED_CERT" });
  await expect(fetch(url.replace("https:", "http:"))).rejects.toThrow();
});

test.each([["SAND_GATEWAY_TLS_CERT"], ["SAND_GATEWAY_TLS_KEY"]])("%s alone is refused", async (name) => {
  await using files = await writeFiles(makeSelfSigned());
  const env = Object.fromEntries(Object.entries(files.env).filter(([key]) => key === name));
  expect(() => readConfig({ SAND_INFERENCE_PROVIDER: "offline", ...env }, "/")).toThrow(
    expect.objectContaining({ code: "config/invalid" }),
  );
});

test.each<[string, Partial<SelfSigned>]>([
  ["a file that is no certificate", { cert: "no certificate" }],
  ["a file that is no key", { key: "no key" }],
  ["a key of another certificate", { key: makeSelfSigned().key }],
])("%s is refused before anything starts", async (_what, wrong) => {
  await using files = await writeFiles({ ...makeSelfSigned(), ...wrong });
  expect(() => readConfig({ SAND_INFERENCE_PROVIDER: "offline", ...files.env }, "/")).toThrow(
    expect.objectContaining({ code: "config/invalid" }),
  );
});

test("a certificate that isn't there is refused, with a hint that names the variables and not a stack", async () => {
  await using files = await writeFiles(makeSelfSigned());
  const env = { ...files.env, SAND_GATEWAY_TLS_CERT: `${files.env.SAND_GATEWAY_TLS_CERT}.gone` };
  expect(() => readConfig({ SAND_INFERENCE_PROVIDER: "offline", ...env }, "/")).toThrow(
    expect.objectContaining({
      code: "config/invalid",
      hint: expect.stringContaining("SAND_GATEWAY_TLS_CERT"),
    }),
  );
});
