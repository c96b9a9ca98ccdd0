/** `sand doctor`: looks at everything that a host needs and says what to do about what is missing. */
import { systemClock } from "@sand/node-kit";
import type { Command, CommandContext } from "../command.ts";
import { checkDataRoot, checkDiskSpace } from "../doctor/check-data-root.ts";
import { checkDocker, checkNode, checkSandbox } from "../doctor/check-programs.ts";
import { checkModel, checkPort, checkSettings } from "../doctor/check-settings.ts";
import type { Finding, Severity } from "../doctor/finding.ts";
import type { ExitName } from "../exit-codes.ts";
import { findLiveHost } from "../local-host/await-host.ts";

export const doctorCommand: Command = {
  name: "doctor",
  summary: "check what a host needs here",
  usage: "doctor",
  options: {},
  examples: ["sand doctor", "sand doctor --json"],
  words: [0, 0],
  run: doctor,
};

const marks: Readonly<Record<Severity, readonly ["green" | "yellow" | "red", string]>> = {
  ok: ["green", "ok  "],
  warn: ["yellow", "warn"],
  fail: ["red", "FAIL"],
};

async function doctor(context: CommandContext): Promise<ExitName> {
  const { terminal, config, dataRoot } = context;
  const startedMs = systemClock.nowMs();
  const live = await findLiveHost(dataRoot);
  const findings: readonly Finding[] = [
    checkNode(process.versions.node),
    await checkSandbox(config),
    await checkDocker(config),
    checkDataRoot(dataRoot),
    await checkDiskSpace(dataRoot),
    await checkPort(config.port, live),
    checkModel(config),
    ...checkSettings(config),
  ];
  terminal.result({ findings, tookMs: systemClock.nowMs() - startedMs });
  for (const finding of findings) {
    const [style, mark] = marks[finding.severity];
    terminal.line(`${terminal.paint(style, mark)}  ${finding.subject.padEnd(10)} ${finding.text}`);
    if (finding.hint !== undefined)
      terminal.line(`      ${" ".repeat(10)} ${terminal.paint("dim", `→ ${finding.hint}`)}`);
  }
  return findings.some((finding) => finding.severity === "fail") ? "failed" : "ok";
}
