/** The scripted model as a process, and when each of its requests came. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startNode } from "./run-process.mjs";

const modelMain = join(import.meta.dirname, "../../packages/testkit/src/model-server/main.ts");

export async function startModel(folder, script) {
  const scriptFile = join(folder, "model-script.json");
  const log = join(folder, "model-calls.jsonl");
  writeFileSync(scriptFile, JSON.stringify(script));
  const model = startNode(modelMain, ["--script", scriptFile, "--log", log], { cwd: folder });
  const { baseUrl } = await model.next();
  const readCalls = () =>
    existsSync(log)
      ? readFileSync(log, "utf8")
          .split("\n")
          .filter((text) => text !== "")
          .map((text) => JSON.parse(text))
      : [];
  return { baseUrl, readCalls, [Symbol.asyncDispose]: () => model[Symbol.asyncDispose]() };
}
