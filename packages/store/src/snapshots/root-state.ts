/**
 * What a data root knows about its box stores: `<root>/box-store/`.
 *
 * `state.json` says who this root is and how complete it is. A root that is being filled from a store is `partial` from
 * before its first file to after its last one: what is missing in it says nothing, so no snapshot is taken of it and no
 * host is started on it. `none` and `complete` roots are whole; `complete` also names what they came from.
 */
import { randomUUID } from "node:crypto";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { writeFileAtomicSync } from "@sand/node-kit";
import { BoxError } from "@sand/protocol";
import { sha256Of } from "./hash.ts";

/** where a root came from: the store's address and what was restored of it */
export interface Origin {
  readonly store: string;
  readonly snapshotId: string;
  /** the owner's count at that time: a restored root may take over from that owner, and from no later one */
  readonly epoch: number;
}

export type Hydration =
  | { readonly state: "none" }
  | { readonly state: "partial"; readonly from: Origin }
  | { readonly state: "complete"; readonly from: Origin };

export interface RootState {
  readonly ownerId: string;
  readonly hydration: Hydration;
}

/** What is remembered of one store. */
export interface TargetState {
  /** marks of this root's last write of the head and of what it replaced: any other is of a copy of this root */
  readonly writeIds: readonly string[];
  /** objects were missing from it, so the next snapshot takes none for stored */
  readonly hasLosses: boolean;
  /** what was found out about the store's conditions, and when */
  readonly probed: {
    readonly kind: "cas" | "lease";
    readonly style: "quoted" | "plain";
    readonly atMs: number;
  } | null;
}

const folderName = "box-store";
const stateFileName = "state.json";

export function boxStoreFolder(root: string): string {
  return join(root, folderName);
}

export function readRootState(root: string): RootState {
  const value = readJson(join(boxStoreFolder(root), stateFileName));
  const { ownerId, hydration } = value;
  return {
    ownerId: typeof ownerId === "string" && ownerId !== "" ? ownerId : randomUUID(),
    hydration: parseHydration(hydration),
  };
}

export function writeRootState(root: string, state: RootState): void {
  mkdirSync(boxStoreFolder(root), { recursive: true, mode: 0o700 });
  writeFileAtomicSync(join(boxStoreFolder(root), stateFileName), `${JSON.stringify(state)}\n`);
}

export function readTargetState(root: string, address: string): TargetState {
  const { writeIds, hasLosses, probed } = readJson(targetFile(root, address));
  return {
    writeIds: Array.isArray(writeIds) ? writeIds.filter((id) => typeof id === "string").slice(-2) : [],
    hasLosses: hasLosses === true,
    probed: parseProbed(probed),
  };
}

export function writeTargetState(root: string, address: string, state: TargetState): void {
  mkdirSync(boxStoreFolder(root), { recursive: true, mode: 0o700 });
  writeFileAtomicSync(targetFile(root, address), `${JSON.stringify(state)}\n`);
}

export function targetFile(root: string, address: string, suffix = "json"): string {
  return join(boxStoreFolder(root), `${sha256Of(address).slice(0, 16)}.${suffix}`);
}

function parseHydration(value: unknown): Hydration {
  if (typeof value !== "object" || value === null) return { state: "none" };
  const { state, from } = fieldsOf(value);
  const origin = parseOrigin(from);
  if (origin === undefined || (state !== "partial" && state !== "complete")) return { state: "none" };
  return { state, from: origin };
}

function parseOrigin(value: unknown): Origin | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { store, snapshotId, epoch } = fieldsOf(value);
  if (typeof store !== "string" || typeof snapshotId !== "string" || typeof epoch !== "number")
    return undefined;
  return { store, snapshotId, epoch };
}

function parseProbed(value: unknown): TargetState["probed"] {
  if (typeof value !== "object" || value === null) return null;
  const { kind, style, atMs } = fieldsOf(value);
  if (kind !== "cas" && kind !== "lease") return null;
  return { kind, style: style === "plain" ? "plain" : "quoted", atMs: typeof atMs === "number" ? atMs : 0 };
}

function fieldsOf(value: object): Readonly<Record<string, unknown>> {
  return { ...value };
}

function readJson(path: string): Readonly<Record<string, unknown>> {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return {};
    throw error;
  }
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : {};
  } catch (cause) {
    // Written atomically, so it was damaged afterwards. Taking it for absent would forget a restore that isn't done.
    throw new BoxError("box-store/damaged", `${path} can't be read`, {
      cause,
      hint: "move it away to start anew",
    });
  }
}
