/** What the gateway is told at its start, and its limits. The environment is read elsewhere, once. */
import { limits } from "@sand/protocol";
import { type EventStreamLimits, eventStreamLimits } from "../events/event-streams.ts";

export interface GatewayConfig {
  readonly bindHost: string;
  /** `0` means any free port; the real one is in the discovery file */
  readonly port: number;
  /** without a token, only requests to a loopback name are believed */
  readonly token: string | null;
  /** the folder of the discovery file */
  readonly dataRoot: string;
  /** PEM texts; both or none */
  readonly tls: { readonly cert: string; readonly key: string } | null;
  /** false switches the compression of event streams off */
  readonly sseGzip: boolean;
  readonly limits?: Partial<GatewayLimits>;
}

export interface GatewayLimits extends EventStreamLimits {
  readonly bodyMaxBytes: number;
  readonly headersMaxBytes: number;
  readonly connectionsMax: number;
  /** how long a request may take to arrive, in `ms` */
  readonly requestMaxMs: number;
  /** how long open connections are still answered after the shutdown began, in `ms` */
  readonly closeGraceMs: number;
  /** when a shutdown ends connections by force, in `ms` */
  readonly closeMaxMs: number;
}

export const gatewayLimits: GatewayLimits = {
  ...eventStreamLimits,
  bodyMaxBytes: limits.bodyMaxBytes,
  headersMaxBytes: 32 * 1024,
  connectionsMax: 4_096,
  requestMaxMs: 300_000,
  closeGraceMs: 250,
  closeMaxMs: 5_000,
};
