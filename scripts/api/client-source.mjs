/** The generated part of `packages/client`: types of all commands and events, and one method for each command. */
import { typeText } from "./type-text.mjs";

const header = `// Generated from the protocol's tables by scripts/generate-api.mjs. Do not edit.
`;

export function clientSource({ components, commands, channels, errors }) {
  return [
    header,
    ...Object.entries(components).map(([name, schema]) => `export type ${name} = ${typeText(schema)};\n`),
    `/** request and response of each command */\n`,
    `export interface Commands {\n${commands.map(commandText).join("")}}\n`,
    `/** one method for each command; a command whose request has no required field takes none */\n`,
    `export interface CommandMethods<Options> {\n${commands.map(methodText).join("")}}\n`,
    `export type CallCommand<Options> = <Name extends keyof Commands>(\n  name: Name,\n  request: Commands[Name]["request"],\n  options?: Options,\n) => Promise<Commands[Name]["response"]>;\n`,
    `export function createCommandMethods<Options>(call: CallCommand<Options>): CommandMethods<Options> {\n  return {\n${commands.map(functionText).join("")}  };\n}\n`,
    `/** what each channel of the event stream carries */\n`,
    `export interface EventPayloads {\n${channels.map(channelText).join("")}}\n`,
    `/** what may be done after an error: never send it again, the same with the same nonce, or the same later */\n`,
    `export const errorRetries = {\n${errors.map(({ code, retry }) => `  ${JSON.stringify(code)}: ${JSON.stringify(retry)},\n`).join("")}} as const;\n`,
  ].join("\n");
}

function commandText({ name, request, response }) {
  return `  readonly ${name}: {\n    readonly request: ${typeText(request, "    ")};\n    readonly response: ${typeText(response, "    ")};\n  };\n`;
}

function methodText({ name, note, request }) {
  const argument = `request${needsNone(request) ? "?" : ""}: Commands["${name}"]["request"]`;
  return `  /** ${note} */\n  ${name}(${argument}, options?: Options): Promise<Commands["${name}"]["response"]>;\n`;
}

function functionText({ name, request }) {
  const argument = needsNone(request) ? "request = {}" : "request";
  return `    ${name}: (${argument}, options) => call("${name}", request, options),\n`;
}

function needsNone(request) {
  return (request.required ?? []).length === 0;
}

function channelText({ name, payload }) {
  return `  readonly ${JSON.stringify(name)}: ${typeText(payload, "  ")};\n`;
}
