/** The plain endpoints: who is let in, downloads in all their forms, uploads as forms, and what browsers need. */
import { randomBytes } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { AuthenticationError, getSignature } from "e2b";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { type E2bBox, slowMs, startE2bBox, token } from "./e2b-box.ts";

vi.setConfig({ testTimeout: slowMs, hookTimeout: slowMs });

let box: E2bBox;
beforeAll(async () => {
  box = await startE2bBox();
  await box.sandbox.files.write("ten.txt", "0123456789");
});
afterAll(() => box.dispose());

const at = (path: string, more: Record<string, string> = {}): string =>
  `/files?${new URLSearchParams({ path, ...more })}`;
const bare = (path: string, init?: RequestInit): Promise<Response> => fetch(box.url + path, init);

describe("who is let in", () => {
  test("anybody may ask whether it lives", async () => {
    expect((await bare("/health")).status).toBe(204);
    expect(await box.sandbox.isRunning()).toBe(true);
  });

  test.each([
    ["GET", "/metrics"],
    ["GET", "/envs"],
    ["POST", "/init"],
    ["GET", "/files?path=ten.txt"],
    ["POST", "/files?path=ten.txt"],
    ["POST", "/files/compose"],
    ["POST", "/process.Process/List"],
    ["POST", "/filesystem.Filesystem/Stat"],
    ["GET", "/nothing"],
  ])("%s %s is closed without a token, and with a wrong one", async (method, path) => {
    const headers: Record<string, string>[] = [
      {},
      { "x-access-token": "wrong" },
      { "x-access-token": "" },
      { authorization: "Basic dXNlcjo=" },
    ];
    for (const header of headers) {
      const answer = await bare(path, { method, headers: { "content-type": "application/json", ...header } });
      expect(answer.status).toBe(401);
    }
  });

  test("the daemon's own bearer opens nothing but /init", async () => {
    const headers = { authorization: `Bearer ${token}` };
    expect((await bare("/metrics", { headers })).status).toBe(401);
    expect((await bare("/init", { method: "POST", headers })).status).toBe(204);
  });

  test("a wrong token is an authentication error for the SDK, in every module", async () => {
    const stranger = box.connect({ token: "wrong" });
    await expect(stranger.commands.run("true")).rejects.toThrow(AuthenticationError);
    await expect(stranger.commands.list()).rejects.toThrow(AuthenticationError);
    await expect(stranger.files.read("ten.txt")).rejects.toThrow(AuthenticationError);
    await expect(stranger.files.write("x", "x")).rejects.toThrow(AuthenticationError);
    await expect(stranger.files.list(".")).rejects.toThrow(AuthenticationError);
    await expect(stranger.pty.create({ cols: 80, rows: 24, onData: () => undefined })).rejects.toThrow(
      AuthenticationError,
    );
  });

  test("on the daemon's own port none of this is there, and nothing is open without its bearer", async () => {
    for (const path of ["/files?path=ten.txt", "/envs", "/metrics", "/init", "/process.Process/List", "/x"]) {
      const headers = { "x-access-token": token, "content-type": "application/json" };
      const answer = await fetch(box.rpcUrl + path, { method: "POST", headers, body: "{}" });
      expect([path, answer.status]).toEqual([path, 401]);
      const known = await fetch(box.rpcUrl + path, {
        ...{ method: "POST", body: "{}" },
        headers: { ...headers, authorization: `Bearer ${token}` },
      });
      expect([path, known.status]).toEqual([path, 404]);
    }
  });

  test("an address that is none is refused, and the surface goes on", async () => {
    const answer = await rawAnswer("GET // HTTP/1.1\r\nhost: [::1\r\nconnection: close\r\n\r\n");
    expect(answer).toMatch(/^HTTP\/1\.1 400 /u);
    expect((await bare("/health")).status).toBe(204);
  });

  test("the token is in no answer and in no line of the log", async () => {
    await box.fetch("/metrics?token=1");
    expect(box.log()).not.toContain(token);
    expect(await (await box.fetch("/envs")).text()).not.toContain(token);
  });
});

function rawAnswer(text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: "127.0.0.1", port: Number(new URL(box.url).port) });
    let answer = "";
    socket.on("data", (bytes: Buffer) => {
      answer += bytes.toString("latin1");
    });
    socket.on("error", reject);
    socket.on("close", () => resolve(answer));
    socket.write(text);
  });
}

describe("signed addresses", () => {
  test("a signed address of the SDK reads one file without a token", async () => {
    const url = await box.sandbox.downloadUrl("ten.txt");
    expect(url).not.toContain(token);
    expect(await (await fetch(url)).text()).toBe("0123456789");
  });

  test("one with an end is open until then", async () => {
    const url = await box.sandbox.downloadUrl("ten.txt", { useSignatureExpiration: 120 });
    expect((await fetch(url)).status).toBe(200);
  });

  test("one that has ended is closed", async () => {
    const url = await box.sandbox.downloadUrl("ten.txt", { useSignatureExpiration: -5 });
    const answer = await fetch(url);
    expect(answer.status).toBe(401);
    expect(await answer.json()).toEqual({ code: 401, message: "the signature has expired" });
  });

  test("one for an account is for that account", async () => {
    const url = await box.sandbox.downloadUrl("ten.txt", { user: "user" });
    expect((await fetch(url)).status).toBe(200);
    expect((await fetch(url.replace("username=user", "username=root"))).status).toBe(401);
  });

  test("it is for its path and its operation alone", async () => {
    await box.sandbox.files.write("other.txt", "x");
    const url = await box.sandbox.downloadUrl("ten.txt");
    expect((await fetch(url.replace("ten.txt", "other.txt"))).status).toBe(401);
    expect((await fetch(url, { method: "POST", body: new FormData() })).status).toBe(401);
  });

  test("one made with another token is wrong, and an end that was put off too", async () => {
    const made = { path: "ten.txt", operation: "read", envdAccessToken: "other" } as const;
    const { signature } = await getSignature({ ...made, user: undefined });
    expect((await bare(at("ten.txt", { signature }))).status).toBe(401);
    const url = await box.sandbox.downloadUrl("ten.txt", { useSignatureExpiration: 60 });
    expect((await fetch(url.replace(/expiration=\d+/u, "expiration=99999999999"))).status).toBe(401);
  });

  test("a signed address takes one file of a form", async () => {
    const url = await box.sandbox.uploadUrl("up/signed.txt");
    const form = new FormData();
    form.append("file", new Blob(["signed"]), "ignored.txt");
    const answer = await fetch(url, { method: "POST", body: form });
    expect(await answer.json()).toEqual([
      { path: join(box.home, "up/signed.txt"), name: "signed.txt", type: "file" },
    ]);
    expect(await box.sandbox.files.read("up/signed.txt")).toBe("signed");
  });

  test("one without a path takes files that bring theirs", async () => {
    const form = new FormData();
    form.append("file", new Blob(["1"]), "up/a/one.txt");
    form.append("file", new Blob(["2"]), join(box.home, "up/two.txt"));
    const answer = await fetch(await box.sandbox.uploadUrl(), { method: "POST", body: form });
    expect(answer.status).toBe(200);
    expect(await box.sandbox.files.read("up/a/one.txt")).toBe("1");
    expect(await box.sandbox.files.read("up/two.txt")).toBe("2");
  });
});

describe("downloads", () => {
  test("a file comes as bytes that no browser runs, with what tells its state", async () => {
    const answer = await box.fetch(at("ten.txt"), { headers: { "accept-encoding": "identity" } });
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      ...{ "content-type": "application/octet-stream", "content-length": "10", "accept-ranges": "bytes" },
      ...{ "x-content-type-options": "nosniff", "content-disposition": "inline; filename*=utf-8''ten.txt" },
    });
    expect(answer.headers.get("etag")).toMatch(/^"[0-9a-f]+"$/u);
    expect(Date.parse(answer.headers.get("last-modified") ?? "")).toBeGreaterThan(0);
  });

  test.each([
    ["bytes=0-3", 206, "0123", "bytes 0-3/10"],
    ["bytes=7-", 206, "789", "bytes 7-9/10"],
    ["bytes=-2", 206, "89", "bytes 8-9/10"],
    ["bytes=5-500", 206, "56789", "bytes 5-9/10"],
    ["bytes=0-1,4-5", 200, "0123456789", null],
    ["lines=1-2", 200, "0123456789", null],
  ])("the range %s is answered with %i", async (range, status, text, contentRange) => {
    const answer = await box.fetch(at("ten.txt"), { headers: { range } });
    expect([answer.status, await answer.text(), answer.headers.get("content-range")]).toEqual([
      ...[status, text, contentRange],
    ]);
    expect(answer.headers.get("content-encoding")).toBeNull();
  });

  test("a range behind the end is told with the size", async () => {
    const answer = await box.fetch(at("ten.txt"), { headers: { range: "bytes=10-" } });
    expect([answer.status, answer.headers.get("content-range")]).toEqual([416, "bytes */10"]);
  });

  test("a range in the middle of a file of several pieces is right", async () => {
    const bytes = randomBytes(3_000_000);
    await box.sandbox.files.write("range.bin", new Blob([bytes]));
    const answer = await box.fetch(at("range.bin"), { headers: { range: "bytes=1048570-2097160" } });
    expect(answer.status).toBe(206);
    const part = Buffer.from(await answer.arrayBuffer());
    expect(Buffer.compare(part, bytes.subarray(1_048_570, 2_097_161))).toBe(0);
  });

  test("what a client has already isn't sent again", async () => {
    const first = await box.fetch(at("ten.txt"));
    await first.arrayBuffer();
    const [etag, modified] = [first.headers.get("etag") ?? "", first.headers.get("last-modified") ?? ""];
    for (const headers of [{ "if-none-match": etag }, { "if-modified-since": modified }]) {
      const answer = await box.fetch(at("ten.txt"), { headers });
      expect([answer.status, await answer.text()]).toEqual([304, ""]);
    }
    await box.sandbox.files.write("ten.txt", "0123456789");
    expect((await box.fetch(at("ten.txt"), { headers: { "if-none-match": etag } })).status).toBe(200);
    expect((await box.fetch(at("ten.txt"), { headers: { "if-match": etag } })).status).toBe(412);
    const stale = await box.fetch(at("ten.txt"), { headers: { range: "bytes=0-1", "if-range": etag } });
    expect([stale.status, await stale.text()]).toEqual([200, "0123456789"]);
  });

  test("it is packed when that is asked for, and not otherwise", async () => {
    await box.sandbox.files.write("pack.txt", "x".repeat(10_000));
    const packed = await rawAnswer(
      `GET ${at("pack.txt")} HTTP/1.1\r\nhost: a\r\nx-access-token: ${token}\r\naccept-encoding: gzip\r\nconnection: close\r\n\r\n`,
    );
    expect(packed).toMatch(/\r\ncontent-encoding: gzip\r\n/iu);
    expect(packed.length).toBeLessThan(2000);
    const plain = await rawAnswer(
      `GET ${at("pack.txt")} HTTP/1.1\r\nhost: a\r\nx-access-token: ${token}\r\nconnection: close\r\n\r\n`,
    );
    expect(plain).not.toMatch(/\r\ncontent-encoding:/iu);
    expect(plain).toMatch(/content-length: 10000/iu);
  });

  test("where neither form may be sent that is said", async () => {
    const headers = { "accept-encoding": "identity;q=0, br" };
    const answer = await box.fetch(at("ten.txt"), { headers });
    expect([answer.status, await answer.json()]).toMatchObject([406, { code: 406 }]);
  });

  test("only the head of an answer comes when that is asked for", async () => {
    const answer = await box.fetch(at("ten.txt"), {
      method: "HEAD",
      headers: { "accept-encoding": "identity" },
    });
    expect([answer.status, answer.headers.get("content-length"), await answer.text()]).toEqual([
      200,
      "10",
      "",
    ]);
  });

  test.each([
    ["what isn't there", at("missing"), 404],
    ["a folder", at("."), 400],
    ["no path", "/files", 400],
    ["another account", at("ten.txt", { username: "stranger" }), 401],
    ["another account's home", at("~stranger/x"), 400],
    ["a NUL", "/files?path=a%00b", 400],
  ])("%s is an error that says so", async (_what, path, status) => {
    const answer = await box.fetch(path);
    expect(answer.status).toBe(status);
    expect(await answer.json()).toEqual({ code: status, message: expect.any(String) });
  });
});

describe("uploads", () => {
  const cutOff = '--b\r\ncontent-disposition: form-data; name="file"; filename="cut"\r\n\r\nhalf a fi';
  const form = (...parts: readonly (readonly [string, string, string])[]): FormData => {
    const data = new FormData();
    for (const [field, name, text] of parts) data.append(field, new Blob([text]), name);
    return data;
  };
  const post = (
    path: string,
    body: NonNullable<RequestInit["body"]>,
    headers: Record<string, string> = {},
  ): Promise<Response> => box.fetch(path, { method: "POST", body, headers });
  const octets = { "content-type": "application/octet-stream" };

  test("a body that is the file is stored as it is", async () => {
    const answer = await post(at("raw.bin"), new Uint8Array([0, 1, 255]), octets);
    expect([answer.status, await answer.json()]).toEqual([
      200,
      [{ path: join(box.home, "raw.bin"), name: "raw.bin", type: "file" }],
    ]);
    expect(readFileSync(join(box.home, "raw.bin"))).toEqual(Buffer.from([0, 1, 255]));
  });

  test("a packed body is unpacked, as a file and as a form", async () => {
    const packed = gzipSync("packed ".repeat(1000));
    await post(at("packed.txt"), new Uint8Array(packed), { ...octets, "content-encoding": "gzip" });
    expect(statSync(join(box.home, "packed.txt")).size).toBe(7000);
    const whole = await new Response(form(["file", "form.txt", "from a form"])).blob();
    const body = new Uint8Array(gzipSync(Buffer.from(await whole.arrayBuffer())));
    expect(
      (await post("/files", body, { "content-type": whole.type, "content-encoding": "gzip" })).status,
    ).toBe(200);
    expect(gunzipSync(body).length).toBeGreaterThan(0);
    expect(await box.sandbox.files.read("form.txt")).toBe("from a form");
  });

  test("parts that aren't files are left out", async () => {
    const answer = await post("/files", form(["note", "x.txt", "x"], ["file", "y.txt", "y"]));
    expect(((await answer.json()) as { name: string }[]).map(({ name }) => name)).toEqual(["y.txt"]);
    expect(await box.sandbox.files.exists("x.txt")).toBe(false);
  });

  test("metadata in headers is kept, its names in small letters", async () => {
    const answer = await post(at("meta"), "x", { ...octets, "X-Metadata-Author": "me" });
    expect(await answer.json()).toMatchObject([{ metadata: { author: "me" } }]);
  });

  test.each<[string, () => Promise<Response>, number]>([
    ["a form without a file", () => post("/files", form(["other", "a", "b"])), 400],
    ["a form that is none", () => post("/files", "x", { "content-type": "multipart/form-data" }), 400],
    [
      "a form that is cut off",
      () => post("/files", "--b\r\n", { "content-type": "multipart/form-data; boundary=b" }),
      400,
    ],
    [
      "a form that ends in the middle of a file",
      () => post("/files", cutOff, { "content-type": "multipart/form-data; boundary=b" }),
      400,
    ],
    ["two files for one path", () => post(at("one"), form(["file", "a", "1"], ["file", "b", "2"])), 400],
    ["another kind of body", () => post(at("one"), "x", { "content-type": "text/plain" }), 400],
    ["another packing", () => post(at("one"), "x", { ...octets, "content-encoding": "br" }), 400],
    [
      "a packed body that is none",
      () => post(at("one"), "x", { ...octets, "content-encoding": "gzip" }),
      400,
    ],
    [
      "another kind of body, packed, that isn't read",
      () => post(at("one"), "x", { "content-type": "text/plain", "content-encoding": "gzip" }),
      400,
    ],
    ["no path", () => post("/files", "x", octets), 400],
    ["a path that is a folder's", () => post(at("one/"), "x", octets), 400],
    ["another account", () => post(at("one", { username: "stranger" }), "x", octets), 401],
    [
      "a metadata name that is too long",
      () => post(at("one"), "x", { ...octets, [`x-metadata-${"n".repeat(247)}`]: "v" }),
      400,
    ],
  ])("%s is refused with what is wrong", async (_what, ask, status) => {
    const answer = await ask();
    expect(answer.status).toBe(status);
    expect(await answer.json()).toEqual({ code: status, message: expect.any(String) });
  });
});

describe("composing", () => {
  const compose = (body: unknown): Promise<Response> =>
    box.fetch("/files/compose", {
      ...{ method: "POST", body: JSON.stringify(body), headers: { "content-type": "application/json" } },
    });

  test("parts are joined in their order, and are gone then", async () => {
    for (const n of [1, 2, 3]) await box.sandbox.files.write(`part-${n}`, `${n}`.repeat(n));
    const answer = await compose({ destination: "whole/file", source_paths: ["part-3", "part-1", "part-2"] });
    expect([answer.status, await answer.json()]).toEqual([
      200,
      { path: join(box.home, "whole/file"), name: "file", type: "file" },
    ]);
    expect(await box.sandbox.files.read("whole/file")).toBe("333122");
    expect(await box.sandbox.files.exists("part-1")).toBe(false);
  });

  test("large parts are joined too, also to one of them", async () => {
    const [a, b] = [randomBytes(1_500_000), randomBytes(700_000)];
    await box.sandbox.files.write("big-a", new Blob([a]));
    await box.sandbox.files.write("big-b", new Blob([b]));
    expect((await compose({ destination: "big-a", source_paths: ["big-a", "big-b"] })).status).toBe(200);
    expect(Buffer.compare(readFileSync(join(box.home, "big-a")), Buffer.concat([a, b]))).toBe(0);
  });

  test("when a part is missing nothing is made and nothing removed", async () => {
    await box.sandbox.files.write("lonely", "x");
    expect((await compose({ destination: "never", source_paths: ["lonely", "missing"] })).status).toBe(404);
    expect(await box.sandbox.files.exists("never")).toBe(false);
    expect(await box.sandbox.files.read("lonely")).toBe("x");
  });

  test.each([
    ["no destination", { source_paths: ["a"] }, 400],
    ["no parts", { destination: "x", source_paths: [] }, 400],
    ["parts that are no paths", { destination: "x", source_paths: [1] }, 400],
    ["a folder as a part", { destination: "x", source_paths: ["."] }, 400],
    ["another account", { destination: "x", source_paths: ["ten.txt"], username: "stranger" }, 401],
    ["no object", [1], 400],
  ])("%s is refused", async (_what, body, status) => {
    expect((await compose(body)).status).toBe(status);
  });
});

describe("browsers", () => {
  test("a page of any origin may ask first, and is told what it may send", async () => {
    const answer = await bare("/process.Process/Start", {
      method: "OPTIONS",
      headers: {
        ...{ origin: "https://a.example", "access-control-request-method": "POST" },
        "access-control-request-headers": "connect-protocol-version,content-type,x-access-token",
      },
    });
    expect(answer.status).toBe(204);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      ...{ "access-control-allow-origin": "*" },
      "access-control-allow-headers": "connect-protocol-version,content-type,x-access-token",
    });
    expect(answer.headers.get("access-control-allow-credentials")).toBeNull();
  });

  test("an answer may be read by the page, errors too, and what it needs of the headers", async () => {
    for (const answer of [await box.fetch("/metrics"), await bare("/metrics")]) {
      expect(answer.headers.get("access-control-allow-origin")).toBe("*");
      expect(answer.headers.get("access-control-expose-headers")).toMatch(/Connect-Content-Encoding/u);
    }
  });
});

test("metrics tell what the machine has and uses", async () => {
  const metrics = (await (await box.fetch("/metrics")).json()) as Record<string, number>;
  expect(metrics.mem_total).toBeGreaterThan(metrics.mem_used ?? 0);
  expect(metrics.disk_total).toBeGreaterThan(metrics.disk_used ?? 0);
  expect(metrics.mem_total_mib).toBe(Math.floor((metrics.mem_total ?? 0) / 1024 / 1024));
  expect(metrics.cpu_count).toBeGreaterThan(0);
  expect(metrics.cpu_used_pct).toBeGreaterThanOrEqual(0);
  expect(metrics.cpu_used_pct).toBeLessThanOrEqual(100);
  expect(Math.abs((metrics.ts ?? 0) - Date.now() / 1000)).toBeLessThan(60);
});
