/**
 * Proof that an agent's command can't get at the tokens of host, daemon or provider: a command run by an agent scans
 * `/proc`, every readable file where such things lie, its own environment and all loopback answers.
 *
 * The control is the same scan with the sandbox off: there it must find the planted values, or the scan is blind.
 */

import { randomBytes } from "node:crypto";
import { copyFileSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { callOrFail, fieldOf, textOf } from "../gateway-client.ts";
import type { SandBundles } from "../processes/sand-bundles.ts";
import { createWorld, type SandWorld, type WorldSecrets } from "../processes/sand-world.ts";
import { waitForIdle } from "../sweep/sweep-clients.ts";
import { collectFindings, type Findings, type ProofResult } from "./proof-result.ts";

export interface SecretsProofOptions {
  readonly bundles: SandBundles;
}

export interface SecretScan {
  readonly finds: readonly string[];
  readonly looked: Readonly<Record<string, number>>;
}

export async function proveSecrets(options: SecretsProofOptions): Promise<ProofResult> {
  const findings = collectFindings();
  const guarded = await scanInWorld(options, "required", findings);
  for (const place of guarded.finds) findings.expect(false, `a command found a secret in ${place}`);
  expectSight(findings, guarded, [
    "environments",
    "commandLines",
    "descriptors",
    "files",
    "ports",
    "answers",
  ]);
  const open = await scanInWorld(options, "off", findings);
  findings.expect(
    open.finds.some((place) => place.startsWith("/proc/") && place.endsWith("/environ")),
    "without a sandbox the scan doesn't find the bait in /proc: it is blind",
  );
  findings.expect(
    open.finds.some((place) => place.includes("gateway.json")),
    "without a sandbox the scan doesn't find the bait in a file: it is blind",
  );
  for (const place of open.finds.filter((one) => one.startsWith("own ")))
    findings.expect(false, `a command was given a secret in its ${place}`);
  return {
    figures: {
      findsInSandbox: guarded.finds.length,
      findsWithoutSandbox: open.finds.length,
      filesScanned: guarded.looked.files ?? 0,
      environmentsScanned: guarded.looked.environments ?? 0,
      portsAsked: guarded.looked.ports ?? 0,
      answersRead: guarded.looked.answers ?? 0,
    },
    findings: findings.list,
  };
}

function expectSight(findings: Findings, scan: SecretScan, kinds: readonly string[]): void {
  for (const kind of kinds) {
    findings.expect(
      (scan.looked[kind] ?? 0) > 0,
      `the scan could look at no ${kind}, so it proves nothing about them`,
    );
  }
}

/** all values begin with the mark that the scan looks for */
function plantedSecrets(): WorldSecrets {
  const make = (what: string) =>
    `${["planted", "secret", ""].join("~")}${what}-${randomBytes(12).toString("hex")}`;
  return { gateway: make("gateway"), daemon: make("daemon"), provider: make("provider") };
}

/** A sandboxed command has a /tmp of its own, so a Node that lies there is taken along into the workspace. */
function reachableNode(workspace: string): string {
  if (!process.execPath.startsWith(`${tmpdir()}/`)) return process.execPath;
  const copy = join(workspace, "node");
  copyFileSync(process.execPath, copy);
  return copy;
}

async function scanInWorld(
  options: SecretsProofOptions,
  sandbox: "required" | "off",
  findings: Findings,
): Promise<SecretScan> {
  const secrets = plantedSecrets();
  await using world = await createWorld({ label: "secrets", bundles: options.bundles, sandbox, secrets });
  await world.startDaemon();
  const { access } = await world.startHost();
  const scanner = join(world.workspace, "scan.mjs");
  copyFileSync(join(import.meta.dirname, "scan-for-secrets.mjs"), scanner);
  const report = join(world.workspace, "report.json");
  const made = await callOrFail(access, "createAgent", { name: "scanner", description: "" });
  const id = textOf(fieldOf(fieldOf(made, "agent"), "id"));
  const roots = [world.folder, "/run", "/dev/shm", "/home", "/var/tmp", "/root", "/tmp"];
  const command = `${reachableNode(world.workspace)} ${scanner} ${report} '${JSON.stringify(roots)}'`;
  await callOrFail(access, "sendPrompt", { agentId: id, prompt: `script:run ${command}` });
  await waitForIdle({ access: () => access }, [id]);
  const tail = JSON.stringify(await callOrFail(access, "getAgentTranscriptTail", { id }));
  expectClean(findings, "the transcript", tail, secrets);
  for (const log of ["host.log", "daemon.log"])
    expectClean(
      findings,
      `the ${sandbox} run's ${log}`,
      readFileSync(join(world.folder, log), "utf8"),
      secrets,
    );
  expectClean(findings, "the model's log", readFileSync(world.modelLog, "utf8"), secrets);
  return readReport(world, report, tail);
}

function expectClean(findings: Findings, where: string, text: string, secrets: WorldSecrets): void {
  for (const [owner, value] of Object.entries(secrets)) {
    findings.expect(!text.includes(value), `the ${owner}'s secret stands in ${where}`);
  }
}

function readReport(world: SandWorld, path: string, tail: string): SecretScan {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    throw new Error(`the scan left no report in ${world.workspace}: ${tail}`, { cause: error });
  }
}
