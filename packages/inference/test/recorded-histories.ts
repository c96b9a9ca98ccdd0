/** The histories whose requests are recorded: one for each thing that a change of a request could break. */
import type { ModelMessage } from "@sand/agent-core";

type Reasoning = Extract<ModelMessage, { readonly role: "assistant" }>["reasoning"];

export const historyNames = ["plain", "tools", "parallel", "interrupted", "reasoning", "steering"] as const;
export type HistoryName = (typeof historyNames)[number];

const system: ModelMessage = { role: "system", text: "You are an agent.\nBe brief." };
const user = (text: string): ModelMessage => ({ role: "user", text });
const answer = (text: string): ModelMessage => ({ role: "assistant", text, calls: [], reasoning: [] });
const call = (providerCallId: string, argsText: string, name = "Shell") => ({
  providerCallId,
  name,
  argsText,
});
const result = (providerCallId: string, text: string, isError = false, name = "Shell"): ModelMessage => ({
  role: "tool",
  providerCallId,
  name,
  text,
  isError,
});

const fixed = {
  plain: [system, user("Hello, ünï 😀"), answer("Hi."), user("How are you?")],
  tools: [
    system,
    user("What is here?"),
    {
      role: "assistant",
      text: "Let me look.",
      calls: [call("c1", '{ "command" : "ls -la" }')],
      reasoning: [],
    },
    result("c1", "one.txt\ntwo.txt\n"),
    answer("Two files."),
    user("Read the first."),
    {
      role: "assistant",
      text: "",
      calls: [call("c2", '{"path":"one.txt"}', "ReadFile")],
      reasoning: [],
    },
    result("c2", "", false, "ReadFile"),
  ],
  parallel: [
    system,
    user("Do three things."),
    {
      role: "assistant",
      text: "",
      calls: [
        call("c1", '{"command":"true"}'),
        call("c2", '{"command":"false"}'),
        call("functions.Shell:2", '{"comm'),
      ],
      reasoning: [],
    },
    result("c1", "done"),
    result("c2", "exit code 1", true),
    result("functions.Shell:2", "the arguments are no JSON", true),
  ],
  interrupted: [
    system,
    user("Wait for an hour."),
    { role: "assistant", text: "", calls: [call("c1", '{"command":"sleep 3600"}')], reasoning: [] },
    result("c1", "This call was cut short; whether it had any effect is not known.", true),
    user("Never mind."),
    user("Say hello instead."),
  ],
  steering: [
    system,
    user("Count to ten."),
    { role: "assistant", text: "", calls: [call("c1", '{"command":"seq 10"}')], reasoning: [] },
    result("c1", "1\n2\n3"),
    user("Stop at three."),
  ],
} as const satisfies Record<Exclude<HistoryName, "reasoning">, readonly ModelMessage[]>;

/** `reasoning` is what the model of the same format had sent with a step whose text is "Let me look." */
export function historyOf(name: HistoryName, reasoning: Reasoning): readonly ModelMessage[] {
  return name === "reasoning"
    ? [
        system,
        user("Think first."),
        { role: "assistant", text: "Let me look.", calls: [call("c1", '{"command":"ls"}')], reasoning },
        result("c1", "one.txt"),
      ]
    : fixed[name];
}
