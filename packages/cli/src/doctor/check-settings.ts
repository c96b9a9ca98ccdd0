/** Settings that a start would stumble over: a port in use, a provider without a model, a half-set gateway. */
import { createServer } from "node:net";
import type { CliConfig } from "../config.ts";
import type { GatewayLocation } from "../gateway/find-gateway.ts";
import { describeModel, modelLine } from "../local-host/describe-model.ts";
import type { Finding } from "./finding.ts";

export async function checkPort(
  port: number,
  live: { readonly location: GatewayLocation } | undefined,
): Promise<Finding> {
  const subject = "port";
  if (live !== undefined) return { subject, severity: "ok", text: `a host answers at ${live.location.url}` };
  if (port === 0 || (await isFree(port)))
    return { subject, severity: "ok", text: port === 0 ? "any free one" : `${port} is free` };
  return {
    subject,
    severity: "fail",
    text: `${port} is in use by another program`,
    hint: "sand up --port 0, or set SAND_HOST_PORT",
  };
}

export function checkModel(config: CliConfig): Finding {
  const choice = describeModel(config);
  if (choice.problem !== undefined) {
    return {
      subject: "model",
      severity: "fail",
      text: choice.problem,
      hint: "or set SAND_INFERENCE_PROVIDER=offline to go on without",
    };
  }
  return { subject: "model", severity: "ok", text: modelLine(choice) };
}

export function checkSettings(config: CliConfig): readonly Finding[] {
  if (config.gatewayUrl === undefined) return [];
  const subject = "gateway";
  if (config.gatewayToken === undefined) {
    return [
      {
        subject,
        severity: "warn",
        text: "SAND_HOST_GATEWAY_URL is set, its token isn't",
        hint: "set SAND_HOST_GATEWAY_TOKEN",
      },
    ];
  }
  return [{ subject, severity: "ok", text: `commands go to ${config.gatewayUrl}` }];
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen({ port, host: "127.0.0.1", exclusive: true }, () => server.close(() => resolve(true)));
  });
}
