/** Says what runs and where, after `sand up` and for `sand status`. */
import type { CommandContext } from "../command.ts";
import type { GatewayLocation } from "../gateway/find-gateway.ts";
import type { Health } from "../gateway/gateway-client.ts";
import { describeModel, modelLine } from "./describe-model.ts";

export interface HostReport {
  readonly location: GatewayLocation;
  readonly health: Health;
  readonly began: "started" | "upgraded" | "already-running";
  /** what the box is, and why */
  readonly box: string;
  readonly workspace?: string;
  readonly sandbox?: string;
  /** what a person should know before going on */
  readonly notes: readonly string[];
}

const headings: Readonly<Record<HostReport["began"], string>> = {
  started: "The host is up.",
  upgraded: "The host is replaced, and its turns go on.",
  "already-running": "The host is up already.",
};

export function reportHost(context: CommandContext, report: HostReport): void {
  const { terminal, dataRoot, config } = context;
  const { paint } = terminal;
  const fresh = report.began !== "already-running";
  terminal.result({
    began: report.began,
    url: report.location.url,
    pid: report.health.pid,
    startedAt: report.health.startedAt,
    dataRoot,
    box: report.box,
    ...(report.workspace === undefined ? {} : { workspace: report.workspace }),
    ...(report.sandbox === undefined ? {} : { sandbox: report.sandbox }),
    ...(fresh ? { model: describeModel(config).provider } : {}),
    notes: report.notes,
  });
  const row = (name: string, value: string): void =>
    terminal.line(`  ${paint("dim", name.padEnd(10))} ${value}`);
  terminal.line(paint("green", headings[report.began]));
  row("gateway", report.location.url);
  row("pid", String(report.health.pid));
  row("data", dataRoot);
  if (report.workspace !== undefined) row("workspace", report.workspace);
  if (fresh) row("model", modelLine(describeModel(config)));
  row("box", report.box);
  if (report.sandbox !== undefined) row("sandbox", report.sandbox);
  for (const note of report.notes) terminal.line(`${paint("yellow", "!")} ${note}`);
  terminal.line(
    paint(
      "dim",
      fresh ? "Next: sand chat" : "Settings count at a start: to change them, sand down, then sand up",
    ),
  );
}
