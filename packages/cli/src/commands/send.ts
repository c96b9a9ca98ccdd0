/** `sand send`: hands one prompt to an agent; with `--wait` it stays until the turn is over and shows it. */
import { readFileSync } from "node:fs";
import { systemClock } from "@sand/node-kit";
import { openConversation } from "../chat/conversation.ts";
import { followTurn } from "../chat/follow-turn.ts";
import type { Command, CommandContext, CommandInput } from "../command.ts";
import { CommandFailure } from "../command-failure.ts";
import type { ExitName } from "../exit-codes.ts";
import { requireAgent } from "../gateway/agent-rows.ts";
import { createGatewayAccess } from "../gateway/gateway-access.ts";
import { type BusyChoice, busyChoices, type Prompt, sendPrompt } from "../gateway/send-prompt.ts";

export const sendCommand: Command = {
  name: "send",
  summary: "send a prompt to an agent",
  usage: "send <agent> <text> [options]",
  details: [
    'The text "-" is read from standard input. Without --wait the command ends once the prompt is',
    "accepted, which is durable: the turn goes on without you. Ctrl-C while waiting interrupts the turn.",
  ].join("\n"),
  options: {
    wait: { type: "boolean", short: "w", about: "follow the turn until it is over" },
    timeout: { type: "string", value: "<seconds>", about: "with --wait: how long at most (default 3600)" },
    nonce: {
      type: "string",
      value: "<id>",
      about: "an id of your own, under which the prompt runs once however often it is sent",
    },
    "when-busy": {
      type: "string",
      value: "<how>",
      choices: busyChoices,
      about: "steer (default), queue or interrupt: what to do while a turn runs",
    },
  },
  examples: [
    "sand send main 'run `ls -la`' --wait",
    "git diff | sand send reviewer - --wait",
    'sand send main "stop that, list the files" --when-busy interrupt',
  ],
  words: [2, 2],
  run: send,
};

const waitDefaultSeconds = 3_600;
const waitMaxSeconds = 7 * 24 * 3_600;

async function send(context: CommandContext, input: CommandInput): Promise<ExitName> {
  const { terminal } = context;
  const [word = "", text = ""] = input.words;
  const whenBusy = readBusyChoice(input.text("when-busy"));
  const timeoutMs = readSeconds(input.text("timeout")) * 1_000;
  const access = createGatewayAccess(context);
  const agent = await requireAgent(access.client(), word);
  const prompt: Prompt = {
    agentId: agent.id,
    text: text === "-" ? readStandardInput() : text,
    nonce: input.text("nonce") ?? crypto.randomUUID(),
    ...(whenBusy === undefined ? {} : { whenBusy }),
  };
  if (prompt.text.trim() === "") throw new CommandFailure("usage", "the prompt is empty");
  if (input.flag("wait")) {
    const conversation = await openConversation({ terminal, access, agentId: agent.id, clock: systemClock });
    return followTurn(conversation, terminal, { ...prompt, timeoutMs }).finally(() => conversation.close());
  }
  await sendPrompt(access, prompt, systemClock);
  terminal.result({ accepted: true, agentId: agent.id, clientNonce: prompt.nonce });
  terminal.line(`Accepted by ${agent.name} under the nonce ${prompt.nonce}.`);
  return "ok";
}

function readBusyChoice(text: string | undefined): BusyChoice | undefined {
  if (text === undefined) return undefined;
  const choice = busyChoices.find((one) => one === text);
  if (choice === undefined)
    throw new CommandFailure("usage", `--when-busy is one of ${busyChoices.join(", ")}, not "${text}"`);
  return choice;
}

function readSeconds(text: string | undefined): number {
  if (text === undefined) return waitDefaultSeconds;
  const seconds = Number(text);
  if (!/^\d{1,7}$/u.test(text) || seconds < 1 || seconds > waitMaxSeconds) {
    throw new CommandFailure(
      "usage",
      `--timeout is a number of seconds up to ${waitMaxSeconds}, not "${text}"`,
    );
  }
  return seconds;
}

function readStandardInput(): string {
  return readFileSync(0, "utf8");
}
