/**
 * Writes the JSON schemas of model requests, derived from the types of the official SDKs.
 *
 * The scripted model server checks every request against them, so that a request which the real API would refuse
 * fails in our tests as well. `--check` writes nothing and exits 1 when a committed schema is stale.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { createGenerator } from "ts-json-schema-generator";

const targetFolder = join(dirname(fileURLToPath(import.meta.url)), "../src/model-server");

const schemas = [
  {
    sdk: "openai",
    types: "resources/chat/completions/completions.d.ts",
    type: "ChatCompletionCreateParams",
    target: "openai-chat-request.gen.json",
  },
  {
    sdk: "@anthropic-ai/sdk",
    types: "resources/messages/messages.d.ts",
    type: "MessageCreateParams",
    target: "anthropic-messages-request.gen.json",
  },
];

function generateSchema({ sdk, types, type }) {
  const folder = dirname(createRequire(import.meta.url).resolve(sdk));
  const generator = createGenerator({
    path: join(folder, types),
    type,
    // The SDK compiles under its own flags; only the shape of its types matters here.
    skipTypeCheck: true,
    topRef: true,
    expose: "export",
    jsDoc: "none",
    additionalProperties: false,
    sortProps: true,
  });
  const { definitions, ...rest } = generator.createSchema(type);
  const { version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  return `${JSON.stringify({ $comment: `from the types of ${sdk} ${version}`, ...rest, definitions }, null, 1)}\n`;
}

for (const wanted of schemas) {
  const target = join(targetFolder, wanted.target);
  const schema = generateSchema(wanted);
  if (!process.argv.includes("--check")) {
    writeFileSync(target, schema);
  } else if (readFileSync(target, "utf8") !== schema) {
    process.stderr.write(`${wanted.target} is stale: run \`pnpm generate:model-schema\`.\n`);
    process.exitCode = 1;
  }
}
