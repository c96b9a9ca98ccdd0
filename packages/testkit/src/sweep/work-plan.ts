/**
 * The work of one sweep, laid out in advance from a seed: which prompts are sent, what the scripted model answers to
 * each, and which effects must follow. Since nothing in it depends on how the run goes, it is also the checker's
 * yardstick.
 *
 * Each effect has a name that occurs once in the whole sweep. How often that name stands in the witness file is how
 * often the effect happened.
 */
import type { SeededRandom } from "../seeded-random.ts";

export interface PlannedCall {
  readonly kind: "shell" | "write" | "edit";
  readonly effect: string;
  /** how long a command goes on before and after its effect, in `ms` */
  readonly beforeMs: number;
  readonly afterMs: number;
}

export interface PlannedPrompt {
  readonly agent: number;
  readonly nonce: string;
  /** the prompt's text is `script:<name>`, and no other prompt has it */
  readonly name: string;
  readonly whenBusy: "steer" | "queue" | "interrupt";
  /** what the client does after the acceptance: wait for the end, send the next one at once, or interrupt the run */
  readonly afterwards: "wait" | "go-on" | "interrupt";
  /** calls of each step; those within one step run side by side */
  readonly steps: readonly (readonly PlannedCall[])[];
  /** pause between the frames of the model's answers, in `ms` */
  readonly frameDelayMs: number;
  /** how much text the prompt has beside its name, in characters; absent for none */
  readonly paddingChars?: number;
}

/** the share of prompts that are too large for a row of the store, so that they go to its blobs */
const largeShare = 0.4;
/** more than lies in a row */
const largePaddingChars = 70_000;

export interface WorkPlan {
  readonly agents: readonly { readonly name: string; readonly nonce: string }[];
  readonly prompts: readonly PlannedPrompt[];
}

export interface PlanSize {
  readonly agents: number;
  readonly promptsPerAgent: number;
}

export function planWork(random: SeededRandom, size: PlanSize): WorkPlan {
  const run = random.word(6);
  const agents = Array.from({ length: size.agents }, (_, at) => ({
    name: `worker ${at}`,
    nonce: `create-${run}-${at}`,
  }));
  const prompts = agents.flatMap((_, agent) =>
    Array.from({ length: size.promptsPerAgent }, (_unused, at) =>
      planPrompt(random, agent, `${run}-${agent}-${at}`),
    ),
  );
  return { agents, prompts };
}

function planPrompt(random: SeededRandom, agent: number, name: string): PlannedPrompt {
  const afterwards = random.pick(["wait", "wait", "wait", "go-on", "go-on", "interrupt"] as const);
  return {
    agent,
    nonce: `nonce-${name}-${random.word(8)}`,
    name,
    whenBusy: random.pick(["steer", "steer", "queue", "queue", "interrupt"] as const),
    afterwards,
    steps: Array.from({ length: random.whole(1, 4) }, (_, step) => planStep(random, `${name}-${step}`)),
    frameDelayMs: random.pick([0, 0, 10, 30] as const),
    ...(random.chance(largeShare) ? { paddingChars: largePaddingChars } : {}),
  };
}

function planStep(random: SeededRandom, name: string): readonly PlannedCall[] {
  const count = random.chance(0.25) ? random.whole(2, 3) : 1;
  return Array.from({ length: count }, (_, at) => ({
    // Two edits of one file side by side would race by design, so only the first call may be one.
    kind: at === 0 ? random.pick(["shell", "shell", "shell", "write", "edit"] as const) : ("shell" as const),
    effect: `effect-${name}-${at}`,
    beforeMs: random.pick([0, 0, 150] as const),
    afterMs: random.pick([0, 100, 300, 500] as const),
  }));
}

/** what the script and the checker agree on about files */
export interface EffectPaths {
  /** commands append their effect's name here */
  readonly witness: string;
  /** `WriteFile` makes one file for each effect here */
  readonly writtenFolder: string;
  /** `EditFile` puts its effect's name above the last line of this file */
  editedFile(agent: number): string;
}

/** the last line of an edited file; each edit moves it down by one */
export const editAnchor = "== end ==";

export function textOfPrompt(prompt: PlannedPrompt): string {
  const chars = prompt.paddingChars ?? 0;
  return chars === 0
    ? `script:${prompt.name}`
    : `script:${prompt.name} ${`${prompt.name} `.repeat(chars / prompt.name.length)}`;
}

export function answerOfPrompt(prompt: PlannedPrompt): string {
  return `finished ${prompt.name}`;
}

/** The plan as a script file of the scripted model. */
export function toModelScript(plan: WorkPlan, paths: EffectPaths): string {
  const rules = plan.prompts.map((prompt) => ({
    name: prompt.name,
    steps: [
      ...prompt.steps.map((calls) => ({
        calls: calls.map((call) => toolCall(call, paths, prompt.agent)),
        frameDelayMs: prompt.frameDelayMs,
      })),
      { text: answerOfPrompt(prompt), frameDelayMs: prompt.frameDelayMs },
    ],
  }));
  return JSON.stringify({ rules });
}

function toolCall(call: PlannedCall, paths: EffectPaths, agent: number) {
  switch (call.kind) {
    case "shell":
      return { name: "Shell", args: { command: commandOf(call, paths.witness) } };
    case "write":
      return {
        name: "WriteFile",
        args: { path: `${paths.writtenFolder}/${call.effect}`, content: `${call.effect}\n` },
      };
    case "edit":
      return {
        name: "EditFile",
        args: {
          path: paths.editedFile(agent),
          oldText: editAnchor,
          newText: `${call.effect}\n${editAnchor}`,
        },
      };
  }
}

function commandOf(call: PlannedCall, witness: string): string {
  return [
    ...(call.beforeMs > 0 ? [`sleep ${call.beforeMs / 1000}`] : []),
    `echo ${call.effect} >> ${witness}`,
    ...(call.afterMs > 0 ? [`sleep ${call.afterMs / 1000}`] : []),
    `echo ran ${call.effect}`,
  ].join("; ");
}
