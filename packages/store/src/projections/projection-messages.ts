/** What the host's thread asks of the thread of projections, and what it hears. */
import type { AgentId, ErrorCode, MediaHit, SearchHit } from "@sand/protocol";

/** an agent and the newest number that it has committed */
export interface AgentAt {
  readonly agentId: AgentId;
  readonly lastSeq: number;
}

export type ProjectionRequest =
  /** these agents have committed something */
  | { readonly kind: "project"; readonly agents: readonly AgentId[] }
  /** all agents that there are, those first that should be up to date first; what else is indexed goes */
  | { readonly kind: "catch-up"; readonly agents: readonly AgentAt[] }
  /** The agent is about to be removed: answered when nothing of it is written any more. */
  | { readonly kind: "forget"; readonly turn: number; readonly agentId: AgentId }
  | {
      readonly kind: "search";
      readonly turn: number;
      readonly of: "messages" | "media";
      readonly query: string;
      readonly limit: number;
    }
  /** the index goes, and every journal is compared again; a `catch-up` follows */
  | { readonly kind: "rebuild" }
  | { readonly kind: "close" };

export interface SayableError {
  readonly code: ErrorCode;
  readonly message: string;
  readonly hint?: string;
}

export type ProjectionReply =
  | {
      readonly kind: "hits";
      readonly turn: number;
      readonly hits: readonly SearchHit[] | readonly MediaHit[];
    }
  | { readonly kind: "failed"; readonly turn: number; readonly error: SayableError }
  | { readonly kind: "forgotten"; readonly turn: number }
  /** an empty index was made; a damaged one lies at `setAside` */
  | { readonly kind: "fresh"; readonly setAside: string | undefined }
  | { readonly kind: "progress"; readonly done: number; readonly total: number }
  /** the agent is left as it is; the others go on */
  | { readonly kind: "agent-failed"; readonly agentId: AgentId; readonly error: SayableError }
  /** the index can't be used now; what was asked for is dropped */
  | { readonly kind: "index-failed"; readonly error: SayableError }
  /** nothing is left to do */
  | { readonly kind: "idle" };

/** what the thread is started with */
export interface ProjectionRoleData {
  readonly role: "projections";
  readonly root: string;
  /** where carried addons are unpacked */
  readonly nativesFolder: string;
  readonly failpoint: string | undefined;
}
