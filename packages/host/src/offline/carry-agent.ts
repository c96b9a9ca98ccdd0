/** Carries an agent out of a data root into an archive, and from one into another data root. */
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { createLogger, writeFileAtomicSync } from "@sand/node-kit";
import { type AgentId, brandId } from "@sand/protocol";
import { createAgentWorkerPool } from "@sand/store";
import { importArchive, writeArchive } from "@sand/store/archives";
import { refusePartialRoot } from "@sand/store/box-store";
import type { OfflineCall, OfflineReply } from "@sand/store/offline";
import { readProfile, readSettings } from "../agents/agent-files.ts";
import { asJson } from "../agents/agent-handle.ts";
import { summarizeAgent } from "../agents/summarize-agent.ts";
import { findAgent } from "./find-agent.ts";

export async function exportAgent(
  call: Extract<OfflineCall, { kind: "export-agent" }>,
): Promise<OfflineReply> {
  const { agentId, folder, name } = findAgent(call.root, call.agent);
  const { file } = call;
  const { bytes, facts } = await writeArchive({ folder, agentId, name, file, nowMs: Date.now() });
  return { kind: "exported", file, bytes, facts };
}

export async function importAgent(
  { root, file, name }: Extract<OfflineCall, { kind: "import-agent" }>,
  program: string,
): Promise<OfflineReply> {
  refusePartialRoot(root);
  const agentId = brandId<AgentId>(randomUUID());
  const logger = createLogger({ name: "import", level: "silent" });
  const blobWorkers = createAgentWorkerPool({ entry: program, dataRoot: root, logger });
  try {
    const facts = await importArchive({
      ...{ root, file, agentId, logger, blobWorkers },
      summarize({ tx, stage, folder }) {
        const profile = readProfile(stage, agentId);
        const settings = readSettings(stage);
        return asJson(summarizeAgent({ agentId, folder, profile, settings, reads: tx, isActive: false }));
      },
      ...(name === null ? {} : { rename: (stage: string) => renameAgent(stage, agentId, name) }),
    });
    return { kind: "imported", agentId, facts };
  } finally {
    await blobWorkers.close();
  }
}

function renameAgent(stage: string, agentId: AgentId, name: string): void {
  const profile = { ...readProfile(stage, agentId), name };
  writeFileAtomicSync(join(stage, "profile.json"), `${JSON.stringify(profile, null, 2)}\n`, { mode: 0o600 });
}
