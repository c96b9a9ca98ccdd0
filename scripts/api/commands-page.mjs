/** The reference of all commands, events and error codes as one page for people. */
import { typeText } from "./type-text.mjs";

export function commandsPage({ components, commands, channels, errors }) {
  return [
    "# Commands, events and errors",
    "Generated from the protocol's tables by `scripts/generate-api.mjs`. The same as OpenAPI 3.1: [openapi.json](openapi.json).",
    "A command is a `POST /api/<name>` with a JSON object as its body and the bearer in `authorization`. Its value comes back as JSON; a failure comes back as `{ error, failureCode }`.",
    "## Commands",
    ...commands.flatMap(({ name, note, request, response }) => [
      `### ${name}`,
      note,
      `Request:`,
      code(typeText(request)),
      `Response:`,
      code(typeText(response)),
    ]),
    "## Shared shapes",
    ...Object.entries(components).flatMap(([name, schema]) => [`### ${name}`, code(typeText(schema))]),
    "## Channels of `GET /events`",
    "A channel that isn't sent by default is sent to clients that name it in `?channels=`.",
    ...channels.flatMap(({ name, byDefault, payload }) => [
      `### ${name}`,
      byDefault ? "Sent by default." : "Only when it is named.",
      code(typeText(payload)),
    ]),
    "## Error codes",
    table(
      ["failureCode", "status", "retry"],
      errors.map((row) => [`\`${row.code}\``, row.http, row.retry]),
    ),
  ]
    .join("\n\n")
    .concat("\n");
}

function code(text) {
  return `\`\`\`ts\n${text}\n\`\`\``;
}

function table(head, rows) {
  const line = (cells) => `| ${cells.join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}
