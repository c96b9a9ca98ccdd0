/** The OpenAPI 3.1 document of the gateway. Its schemas are the tables' own: 3.1 speaks JSON Schema as it is. */

const parameters = [
  {
    name: "x-sand-request-id",
    in: "header",
    required: false,
    description: "Ties the answer and the host's log together; the answer repeats it.",
    schema: { type: "string", maxLength: 128 },
  },
];

export function openApiDocument(tables, version) {
  return {
    openapi: "3.1.0",
    info: {
      title: "Sand gateway",
      version,
      description: "Commands are POSTed as JSON; facts come back on the event stream.",
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: "http://127.0.0.1:1340" }],
    security: [{ bearer: [] }],
    paths: {
      ...Object.fromEntries(tables.commands.map((command) => [`/api/${command.name}`, commandPath(command)])),
      "/events": eventsPath(tables.channels),
      "/health": healthPath,
    },
    components: {
      securitySchemes: { bearer: { type: "http", scheme: "bearer" } },
      schemas: {
        ...Object.fromEntries(
          Object.entries(tables.components).map(([name, schema]) => [name, pointed(schema)]),
        ),
        Error: errorSchema(tables.errors),
        Event: eventSchema(tables.channels),
      },
      responses: {
        Error: {
          description: "The command failed; nothing of it is half done.",
          content: json({ $ref: "#/components/schemas/Error" }),
        },
      },
    },
  };
}

function json(schema) {
  return { "application/json": { schema } };
}

/** Names of shared shapes as the pointers that OpenAPI wants. */
function pointed(schema) {
  if (Array.isArray(schema)) return schema.map(pointed);
  if (typeof schema !== "object" || schema === null) return schema;
  if (typeof schema.$ref === "string") return { $ref: `#/components/schemas/${schema.$ref}` };
  return Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, pointed(value)]));
}

function commandPath({ name, note, request, response }) {
  return {
    post: {
      operationId: name,
      summary: note,
      parameters,
      requestBody: { required: (request.required ?? []).length > 0, content: json(pointed(request)) },
      responses: {
        200: { description: "The command's value.", content: json(pointed(response)) },
        default: { $ref: "#/components/responses/Error" },
      },
    },
  };
}

function eventsPath(channels) {
  const cursor = { type: "integer", minimum: 0 };
  return {
    get: {
      operationId: "events",
      summary:
        "Server-sent events. With a cursor, frames carry ids and what was committed since is replayed.",
      parameters: [
        {
          name: "channels",
          in: "query",
          description: `Names separated by commas; absent: all but ${ownChannels(channels)}.`,
          schema: { type: "string" },
        },
        { name: "since", in: "query", description: "The seq of the last event seen.", schema: cursor },
        {
          name: "last-event-id",
          in: "header",
          description: "The same as since; it counts when both are there.",
          schema: cursor,
        },
      ],
      responses: {
        200: {
          description: "Each `data:` line is one Event as JSON.",
          content: { "text/event-stream": { schema: { type: "string" } } },
        },
        default: { $ref: "#/components/responses/Error" },
      },
    },
  };
}

function ownChannels(channels) {
  return channels
    .filter(({ byDefault }) => !byDefault)
    .map(({ name }) => name)
    .join(", ");
}

const nullableText = { anyOf: [{ type: "string" }, { type: "null" }] };
const nullableMs = { anyOf: [{ type: "integer" }, { type: "null" }] };

const healthPath = {
  get: {
    operationId: "health",
    summary: "Whether the host lives; needs no bearer.",
    security: [],
    responses: {
      200: {
        description: "The host lives.",
        content: json({
          type: "object",
          required: ["ok", "pid", "isBusy", "activeAgentId", "startedAt", "lastBusyAtMs"],
          properties: {
            ok: { const: true },
            pid: { type: "integer" },
            isBusy: { type: "boolean" },
            activeAgentId: nullableText,
            startedAt: { type: "integer" },
            lastBusyAtMs: nullableMs,
            busyOnlyAwaitingApproval: { type: "boolean" },
          },
        }),
      },
    },
  },
};

function errorSchema(errors) {
  return {
    type: "object",
    required: ["error"],
    properties: {
      error: { type: "string", description: "For people." },
      failureCode: { enum: errors.map(({ code }) => code), description: "For programs." },
    },
  };
}

function eventSchema(channels) {
  return {
    anyOf: channels.map(({ name, payload }) => ({
      type: "object",
      required: ["channel", "payload"],
      properties: { channel: { const: name }, payload: pointed(payload) },
    })),
  };
}
