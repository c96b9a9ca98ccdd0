/** The daemon's service of files, generated, as one door: which of its files a message stands in is nobody's business. */
export type {
  FilesAppendRequest,
  FilesAppendResponse,
  FilesReadRequest,
  FilesReadResponse,
  FilesWriteRequest,
  FilesWriteResponse,
} from "./gen/exec/v1/file_contents_pb.js";
export {
  FilesAppendRequestSchema,
  FilesAppendResponseSchema,
  FilesReadRequestSchema,
  FilesReadResponseSchema,
  FilesWriteRequestSchema,
  FilesWriteResponseSchema,
} from "./gen/exec/v1/file_contents_pb.js";
export type { FileInfo } from "./gen/exec/v1/file_info_pb.js";
export { FileInfoSchema, FileType } from "./gen/exec/v1/file_info_pb.js";
export type {
  FilesListRequest,
  FilesListResponse,
  FilesListStreamRequest,
  FilesListStreamResponse,
  FilesStatRequest,
  FilesStatResponse,
} from "./gen/exec/v1/file_lists_pb.js";
export {
  FilesListRequestSchema,
  FilesListResponseSchema,
  FilesListStreamRequestSchema,
  FilesListStreamResponseSchema,
  FilesStatRequestSchema,
  FilesStatResponseSchema,
} from "./gen/exec/v1/file_lists_pb.js";
export type {
  FilesGlobRequest,
  FilesGlobResponse,
  FilesGrepRequest,
  FilesGrepResponse,
  GrepLine,
} from "./gen/exec/v1/file_search_pb.js";
export {
  FilesGlobRequestSchema,
  FilesGlobResponseSchema,
  FilesGrepRequestSchema,
  FilesGrepResponseSchema,
  GrepLineSchema,
} from "./gen/exec/v1/file_search_pb.js";
export type {
  FilesCopyRequest,
  FilesCopyResponse,
  FilesLinkRequest,
  FilesLinkResponse,
  FilesMakeRequest,
  FilesMakeResponse,
  FilesMoveRequest,
  FilesMoveResponse,
  FilesRemoveRequest,
  FilesRemoveResponse,
} from "./gen/exec/v1/file_tree_pb.js";
export {
  FilesCopyRequestSchema,
  FilesCopyResponseSchema,
  FilesLinkRequestSchema,
  FilesLinkResponseSchema,
  FilesMakeRequestSchema,
  FilesMakeResponseSchema,
  FilesMoveRequestSchema,
  FilesMoveResponseSchema,
  FilesRemoveRequestSchema,
  FilesRemoveResponseSchema,
} from "./gen/exec/v1/file_tree_pb.js";
export type {
  FilesUploadCommitRequest,
  FilesUploadCommitResponse,
  FilesUploadDropRequest,
  FilesUploadDropResponse,
  FilesUploadPieceRequest,
  FilesUploadPieceResponse,
  FilesUploadStatusRequest,
  FilesUploadStatusResponse,
} from "./gen/exec/v1/file_uploads_pb.js";
export {
  FilesUploadCommitRequestSchema,
  FilesUploadCommitResponseSchema,
  FilesUploadDropRequestSchema,
  FilesUploadDropResponseSchema,
  FilesUploadPieceRequestSchema,
  FilesUploadPieceResponseSchema,
  FilesUploadStatusRequestSchema,
  FilesUploadStatusResponseSchema,
} from "./gen/exec/v1/file_uploads_pb.js";
export type {
  FileChange,
  FilesWatchRequest,
  FilesWatchResponse,
  WatchKeepalive,
  WatchOverflow,
  WatchStarted,
} from "./gen/exec/v1/file_watch_pb.js";
export {
  ChangeType,
  FileChangeSchema,
  FilesWatchRequestSchema,
  FilesWatchResponseSchema,
  WatchKeepaliveSchema,
  WatchOverflowSchema,
  WatchStartedSchema,
} from "./gen/exec/v1/file_watch_pb.js";
export { Files } from "./gen/exec/v1/files_pb.js";
