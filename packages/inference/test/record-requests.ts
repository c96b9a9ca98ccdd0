/** Makes the requests of the recorded histories over a real socket, in each wire format. */
import { fileURLToPath } from "node:url";
import type { JsonObject } from "@sand/protocol";
import { type ScriptedModel, startScriptedModel } from "@sand/testkit/model-server";
import { type Adapter, adapters, collect, requestOf, shellTool, userRequest } from "./collect-parts.ts";
import { type HistoryName, historyNames, historyOf } from "./recorded-histories.ts";

export interface MadeRequest {
  readonly name: string;
  /** of the committed recording */
  readonly file: string;
  readonly recording: JsonObject;
  /** sha-256 of the body's bytes, hex */
  readonly bodyDigest: string;
  readonly violations: readonly string[];
}

const readFile = { ...shellTool, name: "ReadFile", description: "Reads a file." };

export async function makeRequests(): Promise<readonly MadeRequest[]> {
  await using server = await startScriptedModel({ script: [{}] });
  const made: MadeRequest[] = [];
  for (const adapter of adapters) {
    for (const history of historyNames) made.push(await makeRequest(server, adapter, history));
  }
  return made;
}

async function makeRequest(
  server: ScriptedModel,
  adapter: Adapter,
  history: HistoryName,
): Promise<MadeRequest> {
  const model = adapter.modelOf(server);
  const thoughts = { reasoning: "I should look around first.", redactedReasoning: "quietly" };
  server.setScript([{ ...thoughts, text: "Let me look.", calls: [{ name: "Shell", args: {} }] }]);
  const parts = await collect(model, userRequest("Think first."));
  const { provider, model: name } = model;
  const reasoning = parts.flatMap((part) =>
    part.type === "raw" ? [{ provider, model: name, part: part.part }] : [],
  );
  const parameters = history === "plain" ? { maxOutputTokens: 1_000 } : {};
  const tools = history === "plain" ? [] : [shellTool, readFile];
  await collect(model, requestOf(historyOf(history, reasoning), { parameters, tools }));
  const seen = server.requests.at(-1);
  if (seen === undefined) throw new Error("the server got no request");
  const { path, headers, body, bodyDigest, violations } = seen;
  const recording = { path, headers: formatHeaders(headers), body };
  return {
    name: `${adapter.name} ${history}`,
    file: fileOf(adapter, history),
    recording,
    bodyDigest,
    violations,
  };
}

function fileOf(adapter: Adapter, history: HistoryName): string {
  return fileURLToPath(new URL(`recorded/${adapter.name}-${history}.gen.json`, import.meta.url));
}

/** the headers that belong to the format; the others name versions and the host */
function formatHeaders(headers: Readonly<Record<string, string>>): JsonObject {
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => name === "content-type" || name.startsWith("anthropic-")),
  );
}

export function writeRecording(recording: JsonObject): string {
  return `${JSON.stringify(recording, null, 2)}\n`;
}
