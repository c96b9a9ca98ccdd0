/** Commands that bring a prompt to an agent, and tell what became of it. */
import Type, { type Static } from "typebox";
import type { AgentId, ClientNonce, EntryId } from "../ids.ts";
import type { JsonValue } from "../json.ts";
import { limits } from "../limits.ts";
import { built } from "./command-row.ts";
import { agentIdField, nonceField } from "./wire-shapes.ts";

const attachmentList = Type.Array(Type.String({ maxLength: limits.attachmentPathMaxLength }), {
  maxItems: limits.attachmentsMaxPerPrompt,
});

export const sendPromptRequest = Type.Object({
  prompt: Type.String(),
  agentId: Type.Optional(agentIdField),
  clientNonce: Type.Optional(nonceField),
  attachmentPaths: Type.Optional(attachmentList),
  attachmentNames: Type.Optional(attachmentList),
  richText: Type.Optional(Type.Unsafe<JsonValue>(Type.Unknown())),
  replyToId: Type.Optional(Type.String({ maxLength: limits.nonceMaxLength })),
  isFork: Type.Optional(Type.Boolean()),
  directAddressedAcceptance: Type.Optional(Type.Unsafe<JsonValue>(Type.Unknown())),
  /** ours: how the prompt meets a running turn */
  whenBusy: Type.Optional(Type.Enum(["steer", "queue", "interrupt"])),
});
export type SendPromptRequest = Static<typeof sendPromptRequest>;

/** what a client may learn about a prompt that it sent */
export interface AcceptanceRecord {
  readonly accountSlot: "host";
  readonly clientNonce: ClientNonce;
  readonly inputDigest: string;
  readonly status: "accepted" | "rejected" | "pending";
  readonly acceptedAtMs: number;
  readonly agentId: AgentId;
  readonly echoEntryId: EntryId | null;
  readonly rejectionCode: string | null;
}

export type PromptAcceptanceStatus =
  | { readonly outcome: "found"; readonly record: AcceptanceRecord }
  | { readonly outcome: "not-found" }
  | { readonly outcome: "unknown-durability" };

const acceptanceStatus = Type.Unsafe<PromptAcceptanceStatus>(
  Type.Union([
    Type.Object({
      outcome: Type.Literal("found"),
      record: Type.Object({
        accountSlot: Type.Literal("host"),
        clientNonce: Type.String(),
        inputDigest: Type.String(),
        status: Type.Enum(["accepted", "rejected", "pending"]),
        acceptedAtMs: Type.Number(),
        agentId: Type.String(),
        echoEntryId: Type.Union([Type.String(), Type.Null()]),
        rejectionCode: Type.Union([Type.String(), Type.Null()]),
      }),
    }),
    Type.Object({ outcome: Type.Literal("not-found") }),
    Type.Object({ outcome: Type.Literal("unknown-durability") }),
  ]),
);

export const promptingCommands = {
  sendPrompt: built(sendPromptRequest, Type.Object({ accepted: Type.Literal(true) })),
  promptAcceptanceStatus: built(
    Type.Object({
      accountSlot: Type.Literal("host"),
      clientNonce: nonceField,
      agentId: Type.Optional(agentIdField),
    }),
    acceptanceStatus,
  ),
} as const;
