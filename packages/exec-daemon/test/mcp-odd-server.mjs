/**
 * A server of the Model Context Protocol that misbehaves on request, written without the SDK, which would not let it.
 * Its flags change how it starts and ends, its tools what it does in between.
 */
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { createInterface } from "node:readline";

const flags = new Set(process.argv.slice(2));
const tools = ["echo", "env", "die", "huge", "flood", "requests", "grow", "wait", "deep", "junk", "pid"];
const bigTools = ["first", "second"];
let page = 0;

const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
const text = (value) => ({ content: [{ type: "text", text: String(value) }] });
const waiting = new Map();

if (flags.has("--deaf")) {
  process.on("SIGTERM", () => undefined);
  process.on("SIGINT", () => undefined);
  setInterval(() => undefined, 1000);
}
if (flags.has("--family")) {
  const script = "trap '' TERM INT; sleep 600 & trap '' TERM; while :; do sleep 1; done";
  spawn("/bin/sh", ["-c", script], { stdio: "ignore" });
  // One that left its session and whose parent has ended: neither descent nor group leads to it.
  spawn("/usr/bin/setsid", ["/bin/sh", "-c", `(${script}) &`], { stdio: "ignore" });
}
const mark = process.argv.find((word) => word.startsWith("--pid-file="))?.slice("--pid-file=".length);
if (mark !== undefined) writeFileSync(mark, String(process.pid));
if (flags.has("--exit-now")) {
  process.stderr.write("no good reason\n");
  process.exit(3);
}
if (flags.has("--greeting")) process.stdout.write("Odd server 1.0 is listening on stdio\n\n");

const calls = {
  echo: ({ value }) => text(value),
  env: () => text(JSON.stringify({ env: process.env, argv: process.argv })),
  pid: () => text(process.pid),
  die: () => process.exit(7),
  huge: ({ bytes }) => text("x".repeat(bytes)),
  flood: ({ count, tool }) => {
    const method = tool === true ? "notifications/tools/list_changed" : "notifications/odd";
    for (let at = 0; at < count; at += 1) send({ method, params: { at } });
    return text("done");
  },
  requests: ({ count }) => {
    for (let at = 0; at < count; at += 1) send({ id: `q${at}`, method: "roots/list", params: {} });
    return text("done");
  },
  grow: ({ name }) => {
    tools.push(name);
    send({ method: "notifications/tools/list_changed" });
    return text("grown");
  },
  junk: ({ count }) => {
    for (let at = 0; at < count; at += 1) process.stdout.write("this is no message\n");
    return text("done");
  },
};

/** Written as text, because the program that makes it can't write such a value either. */
function sendDeep(id, { depth }) {
  const value = `${"[".repeat(depth)}${"]".repeat(depth)}`;
  process.stdout.write(
    `{"jsonrpc":"2.0","id":${id},"result":{"content":[{"type":"text","deep":${value}}]}}\n`,
  );
}

function wait(id, { steps, everyMs }, token) {
  let step = 0;
  const timer = setInterval(() => {
    step += 1;
    if (token !== undefined)
      send({
        method: "notifications/progress",
        params: { progressToken: token, progress: step, total: steps },
      });
    if (step < steps) return;
    clearInterval(timer);
    send({ id, result: text("waited") });
  }, everyMs);
  waiting.set(id, timer);
}

const answers = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: flags.has("--bare") ? {} : { tools: { listChanged: true } },
    serverInfo: { name: "odd", version: "1.0" },
  }),
  ping: () => ({}),
  "tools/list": () => {
    if (!flags.has("--endless"))
      return { tools: tools.map((name) => ({ name, inputSchema: { type: "object" } })) };
    page += 1;
    return {
      tools: [...bigTools, 7, { inputSchema: {} }].map((name) => ({ name })),
      nextCursor: String(page),
    };
  },
};

createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (flags.has("--hang") || method === undefined) return;
  if (method === "notifications/cancelled") {
    clearInterval(waiting.get(params.requestId));
    process.stderr.write(`cancelled ${params.requestId}\n`);
    return;
  }
  if (id === undefined) return;
  if (method === "tools/call" && params.name === "deep") {
    sendDeep(id, params.arguments);
    return;
  }
  if (method === "tools/call" && params.name === "wait") {
    wait(id, params.arguments, params._meta?.progressToken);
    return;
  }
  const answer =
    method === "tools/call" ? calls[params.name]?.(params.arguments ?? {}) : answers[method]?.(params);
  if (answer !== undefined) send({ id, result: answer });
  else send({ id, error: { code: -32601, message: `there is no ${method}` } });
});
