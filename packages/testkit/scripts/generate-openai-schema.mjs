/**
 * Writes the JSON schema of a chat completions request, derived from the types of the official `openai` SDK.
 *
 * The scripted model server checks every request against it, so that a request which the real API would refuse
 * fails in our tests as well. `--check` writes nothing and exits 1 when the committed schema is stale.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { createGenerator } from "ts-json-schema-generator";

const requestType = "ChatCompletionCreateParams";
const target = join(
  dirname(fileURLToPath(import.meta.url)),
  "../src/model-server/openai-chat-request.gen.json",
);

function generateSchema() {
  const sdk = dirname(createRequire(import.meta.url).resolve("openai"));
  const generator = createGenerator({
    path: join(sdk, "resources/chat/completions/completions.d.ts"),
    type: requestType,
    // The SDK compiles under its own flags; only the shape of its types matters here.
    skipTypeCheck: true,
    topRef: true,
    expose: "export",
    jsDoc: "none",
    additionalProperties: false,
    sortProps: true,
  });
  const { definitions, ...rest } = generator.createSchema(requestType);
  const sdkVersion = JSON.parse(readFileSync(join(sdk, "package.json"), "utf8")).version;
  return `${JSON.stringify({ $comment: `from the types of openai ${sdkVersion}`, ...rest, definitions }, null, 1)}\n`;
}

const schema = generateSchema();
if (process.argv.includes("--check")) {
  if (readFileSync(target, "utf8") !== schema) {
    process.stderr.write("The schema of model requests is stale: run `pnpm generate:model-schema`.\n");
    process.exitCode = 1;
  }
} else {
  writeFileSync(target, schema);
}
