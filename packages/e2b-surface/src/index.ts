/** The door of the surface that E2B's SDKs drive. The daemon loads it when it was asked for and not before. */
export { type Surface, startSurface } from "./start-surface.ts";
export type {
  AttributePort,
  DaemonPorts,
  SurfaceAccount,
  Terminal,
  TerminalOrder,
  TerminalPort,
} from "./surface-ports.ts";
export { surfaceVersion } from "./surface-version.ts";
