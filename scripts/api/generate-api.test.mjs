import { expect, test } from "vitest";
import { commandsPage } from "./commands-page.mjs";
import { openApiDocument } from "./openapi-document.mjs";
import { readTables } from "./read-tables.mjs";
import { typeText } from "./type-text.mjs";

const tables = readTables();
const document = openApiDocument(tables, "1.2.3");

function pointersIn(value) {
  if (typeof value !== "object" || value === null) return [];
  const own = typeof value.$ref === "string" ? [value.$ref] : [];
  return [...own, ...Object.values(value).flatMap(pointersIn)];
}

function follow(pointer) {
  return pointer
    .replace("#/", "")
    .split("/")
    .reduce((found, key) => found?.[key], document);
}

test("every command has its path with request, response and error", () => {
  const paths = Object.keys(document.paths).filter((path) => path.startsWith("/api/"));
  expect(paths).toEqual(tables.commands.map(({ name }) => `/api/${name}`));
  for (const path of paths) {
    const { post } = document.paths[path];
    expect(post.summary, path).toBeTruthy();
    expect(post.requestBody.content["application/json"].schema.type, path).toBe("object");
    expect(Object.keys(post.responses), path).toEqual(["200", "default"]);
  }
});

test("every pointer of the document leads somewhere", () => {
  const pointers = pointersIn(document);
  expect(pointers.length).toBeGreaterThan(50);
  expect(pointers.filter((pointer) => follow(pointer) === undefined)).toEqual([]);
});

test("a shape that commands share is named, and not repeated", () => {
  expect(document.paths["/api/listAgents"].post.responses[200].content["application/json"].schema).toEqual({
    type: "array",
    items: { $ref: "#/components/schemas/AgentSummary" },
  });
});

test("a prompt's body asks for the prompt alone, and an empty body is no fault where nothing is required", () => {
  const body = (name) => document.paths[`/api/${name}`].post.requestBody;
  expect(body("sendPrompt").content["application/json"].schema.required).toEqual(["prompt"]);
  expect([body("sendPrompt").required, body("listAgents").required]).toEqual([true, false]);
});

test("the page names every command, channel and code", () => {
  const page = commandsPage(tables);
  for (const { name } of [...tables.commands, ...tables.channels]) expect(page).toContain(`### ${name}\n`);
  for (const { code } of tables.errors) expect(page).toContain(`| \`${code}\` |`);
});

test.each([
  [{ const: "x" }, '"x"'],
  [{ enum: ["a", "b"] }, '"a" | "b"'],
  [{ anyOf: [{ type: "integer" }, { type: "null" }] }, "number | null"],
  [{ type: "array", items: { $ref: "Thing" } }, "ReadonlyArray<Thing>"],
  [{ type: "object", additionalProperties: { type: "boolean" } }, "Readonly<Record<string, boolean>>"],
  [
    { type: "object", required: ["a"], properties: { a: { type: "string" }, b: {} } },
    "{\n  readonly a: string;\n  readonly b?: unknown;\n}",
  ],
])("%j is written as a type", (schema, text) => {
  expect(typeText(schema)).toBe(text);
});

test("a kind of schema that nobody wrote a type for is refused", () => {
  expect(() => typeText({ type: "tuple" })).toThrow("no type for");
});
