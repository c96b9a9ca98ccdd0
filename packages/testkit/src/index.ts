/** The kit's door: pieces for tests. The proofs have a door of their own, since they start whole worlds. */
export { openStream, type RecordedFrame, type StreamSession } from "./event-recorder.ts";
export { findFreePort } from "./free-port.ts";
export {
  callGateway,
  callOrFail,
  fieldOf,
  type GatewayAccess,
  type GatewayReply,
  listOf,
  textOf,
} from "./gateway-client.ts";
export { countOpenFiles, findProcessesOf, type LeftProcess, readResidentBytes } from "./leak-check.ts";
export { type ProcessExit, type StartedProcess, startProcess } from "./processes/child-process.ts";
export { createSeededRandom, type SeededRandom } from "./seeded-random.ts";
export { countEffects, readLines } from "./side-effect-file.ts";
export { createTempFolder, type TempFolder } from "./temp-folder.ts";
export { createCountingIds, createVirtualClock, type VirtualClock } from "./virtual-clock.ts";
export { waitUntil } from "./wait-until.ts";
