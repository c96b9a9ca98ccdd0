/**
 * The door to the services that E2B's SDKs speak. It is apart from `exec.ts` because only the surface for them needs
 * it, and that is loaded when somebody has asked for it.
 */
export type {
  EntryInfo,
  FilesystemEvent,
  WatchDirRequest,
  WatchDirResponse,
} from "./gen/filesystem/filesystem_pb.js";
export {
  EntryInfoSchema,
  EventType,
  Filesystem,
  FilesystemEventSchema,
  FileType as EntryType,
  WatchDirResponseSchema,
} from "./gen/filesystem/filesystem_pb.js";
export type {
  ProcessEvent,
  ProcessInput,
  ProcessSelector,
  PTY_Size,
  StartRequest as ProcessStartRequest,
  StreamInputRequest,
} from "./gen/process/process_pb.js";
export {
  Process,
  ProcessEventSchema,
  Signal as ProcessSignal,
} from "./gen/process/process_pb.js";
