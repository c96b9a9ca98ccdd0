/**
 * The role `offline`, a process of its own: it reads one call about stores, archives or journals, does it and answers.
 * It ends as well when whoever called it goes away, which is safe at any moment.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { armFailpoints } from "@sand/node-kit";
import { BoxError } from "@sand/protocol";
import { prepareSqlite } from "@sand/store/archives";
import type { OfflineCall, OfflineReply } from "@sand/store/offline";
import { exportAgent, importAgent } from "./carry-agent.ts";
import { exportTurn, replayFixture, replayStored } from "./replay-calls.ts";

const callMaxBytes = 65_536;

export async function runOfflineRole(program: string, failpoint?: string): Promise<void> {
  armFailpoints(failpoint);
  const natives = mkdtempSync(join(tmpdir(), "sand-natives-"));
  try {
    const call = await readCall();
    prepareSqlite({ nativesFolder: natives });
    reply(await answer(call, program));
  } catch (error) {
    reply(failed(error));
    process.exitCode = 1;
  } finally {
    rmSync(natives, { recursive: true, force: true });
    process.stdin.destroy();
  }
}

async function answer(call: OfflineCall, program: string): Promise<OfflineReply> {
  switch (call.kind) {
    case "replay":
      return replayStored(call, reply);
    case "replay-fixture":
      return replayFixture(call.file, reply);
    case "export-turn":
      return exportTurn(call);
    case "export-agent":
      return await exportAgent(call);
    case "import-agent":
      return await importAgent(call, program);
  }
}

/** The caller keeps the pipe open for as long as it wants the work to go on. */
async function readCall(): Promise<OfflineCall> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let text = "";
  process.stdin.setEncoding("utf8");
  process.stdin.on("data", (part: string) => {
    text += part;
    if (text.includes("\n")) resolve(text);
    else if (text.length > callMaxBytes) reject(new BoxError("config/invalid", "the call is too long"));
  });
  process.stdin.on("end", () => process.exit(130));
  // Our own process wrote it: whoever could write another one could start this program with any call.
  return JSON.parse(await promise) as OfflineCall;
}

function reply(message: OfflineReply): void {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}

function failed(error: unknown): OfflineReply {
  if (error instanceof BoxError) {
    return { kind: "failed", code: error.code, message: error.message, hint: error.hint ?? null };
  }
  const message = error instanceof Error ? error.message : String(error);
  return { kind: "failed", code: "store/unavailable", message, hint: null };
}
