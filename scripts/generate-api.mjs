/**
 * Writes what is derived from the protocol's tables: the client's types and methods, the OpenAPI document and the
 * reference page. `scripts/generate.mjs --check` says when one of them is stale.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { clientSource } from "./api/client-source.mjs";
import { commandsPage } from "./api/commands-page.mjs";
import { openApiDocument } from "./api/openapi-document.mjs";
import { readTables } from "./api/read-tables.mjs";
import { repositoryRoot } from "./bundle/outputs.mjs";

const tables = readTables();
const { version } = JSON.parse(readFileSync(join(repositoryRoot, "package.json"), "utf8"));
const outputs = {
  "packages/client/src/gen/api.ts": clientSource(tables),
  "docs/generated/openapi.json": `${JSON.stringify(openApiDocument(tables, version), null, 2)}\n`,
  "docs/generated/commands.md": commandsPage(tables),
};
for (const [path, text] of Object.entries(outputs)) {
  mkdirSync(dirname(join(repositoryRoot, path)), { recursive: true });
  writeFileSync(join(repositoryRoot, path), text);
}
