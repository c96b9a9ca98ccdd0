/**
 * The scripted model as a process: `node main.ts [--script rules.json] [--log calls.jsonl] [--port 0]`.
 *
 * Prints `{"port":…,"baseUrl":…}` as its first line, appends one JSON line for each request to the log, and ends on
 * SIGTERM; with `--end-with-stdin` also when its standard input closes, so that it can't outlive who started it.
 */
import { appendFileSync, readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { namedRules } from "./named-rules.ts";
import type { RecordedRequest } from "./request-log.ts";
import { parseScriptFile } from "./script-file.ts";
import { startScriptedModel } from "./start-scripted-model.ts";

const { values } = parseArgs({
  options: {
    script: { type: "string" },
    log: { type: "string" },
    port: { type: "string", default: "0" },
    "end-with-stdin": { type: "boolean", default: false },
  },
});
const script =
  values.script === undefined ? { rules: namedRules } : parseScriptFile(readFileSync(values.script, "utf8"));
const logPath = values.log;

/** Written before the answer leaves: the checker must see each call that a killed client may have got. */
function appendCall(request: RecordedRequest, userTexts: readonly string[]): void {
  if (logPath === undefined) return;
  const { body, headers, ...line } = request;
  // The checker looks for prompts that stand in a history twice; the rest of the body would only fill the disk.
  appendFileSync(logPath, `${JSON.stringify({ ...line, userTexts, pid: process.pid })}\n`);
}

const model = await startScriptedModel({ script, port: Number(values.port), onRequest: appendCall });
process.stdout.write(`${JSON.stringify({ port: model.port, baseUrl: model.baseUrl })}\n`);

function stop(): void {
  model.close().then(
    () => process.exit(0),
    () => process.exit(1),
  );
}
process.once("SIGTERM", stop);
process.once("SIGINT", stop);
// An ignored standard input is at its end from the start, so this is only for those who hold a pipe.
if (values["end-with-stdin"]) process.stdin.once("end", stop).resume();
