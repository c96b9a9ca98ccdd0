/** The system text of every request: who the agent is, where its commands run, how it should work. */
import type { AgentProfile } from "@sand/protocol";

export interface SystemTextInput {
  readonly profile: AgentProfile;
  readonly workspaceRoot: string;
}

export function systemText({ profile, workspaceRoot }: SystemTextInput): string {
  const lines = [
    `You are ${profile.name || "an agent"}, an agent with a computer of its own.`,
    profile.title === "" ? "" : `Your role: ${profile.title}.`,
    profile.description,
    `Your tools work on that computer. Commands and relative paths start in ${workspaceRoot}.`,
    "Use the tools to find out and to act; do not guess what a command would print.",
    "A result may say that it was interrupted or that its outcome is unknown. Check what is there before you do it again.",
    "When you are done, answer the user in plain text.",
  ];
  return lines.filter((line) => line !== "").join("\n");
}
