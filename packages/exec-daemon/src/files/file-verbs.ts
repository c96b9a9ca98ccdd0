/**
 * The file operations behind one door. They run in a process of their own (`file-process.ts`), so that neither a large
 * folder nor a slow disk holds up whoever else is served, and as the account that commands have.
 */
import type { DescMessage, MessageInitShape } from "@bufbuild/protobuf";
import { createKeyedMutex } from "@sand/node-kit";
import type {
  FilesAppendRequest,
  FilesAppendResponseSchema,
  FilesCopyRequest,
  FilesCopyResponseSchema,
  FilesGlobRequest,
  FilesGlobResponseSchema,
  FilesGrepRequest,
  FilesGrepResponseSchema,
  FilesLinkRequest,
  FilesLinkResponseSchema,
  FilesListRequest,
  FilesListResponseSchema,
  FilesListStreamRequest,
  FilesListStreamResponseSchema,
  FilesMakeRequest,
  FilesMakeResponseSchema,
  FilesMoveRequest,
  FilesMoveResponseSchema,
  FilesReadRequest,
  FilesReadResponseSchema,
  FilesRemoveRequest,
  FilesRemoveResponseSchema,
  FilesStatRequest,
  FilesStatResponseSchema,
  FilesUploadCommitRequest,
  FilesUploadCommitResponseSchema,
  FilesUploadDropRequest,
  FilesUploadDropResponseSchema,
  FilesUploadPieceRequest,
  FilesUploadPieceResponseSchema,
  FilesUploadStatusRequest,
  FilesUploadStatusResponseSchema,
  FilesWatchRequest,
  FilesWatchResponseSchema,
  FilesWriteRequest,
  FilesWriteResponseSchema,
} from "@sand/protocol/exec";
import type { BoxPolicy } from "../box-policy.ts";
import { appendToFile } from "./append.ts";
import { applyPatchTo, type PatchAnswer, type PatchRequest } from "./apply-patch.ts";
import { copyPath } from "./copy.ts";
import { globFiles } from "./glob.ts";
import { grepFiles } from "./grep.ts";
import { makeLink } from "./link.ts";
import { listFolder } from "./list.ts";
import { streamFolder } from "./list-stream.ts";
import { makeFolder } from "./make.ts";
import { movePath } from "./move.ts";
import { createPathFence } from "./path-fence.ts";
import { readFileRange } from "./read.ts";
import { removePath } from "./remove.ts";
import { type GitAnswer, type GitRequest, runGit } from "./run-git.ts";
import { createSearch } from "./search-program.ts";
import { statPath } from "./stat.ts";
import { diffTexts, type TextDiffAnswer, type TextDiffRequest } from "./text-diff.ts";
import { createUploads } from "./upload.ts";
import { type TreePage, type TreeRequest, walkTree } from "./walk-tree.ts";
import { createWatch } from "./watch/watch.ts";
import { createFileWrite } from "./write.ts";
import type { WriteJournal } from "./write-journal.ts";

type Answer<Schema extends DescMessage> = Promise<MessageInitShape<Schema>>;

/** One answer for each request. */
export interface FileVerbs {
  read(request: FilesReadRequest): Answer<typeof FilesReadResponseSchema>;
  write(request: FilesWriteRequest): Answer<typeof FilesWriteResponseSchema>;
  append(request: FilesAppendRequest): Answer<typeof FilesAppendResponseSchema>;
  list(request: FilesListRequest): Answer<typeof FilesListResponseSchema>;
  stat(request: FilesStatRequest): Answer<typeof FilesStatResponseSchema>;
  grep(request: FilesGrepRequest): Answer<typeof FilesGrepResponseSchema>;
  glob(request: FilesGlobRequest): Answer<typeof FilesGlobResponseSchema>;
  make(request: FilesMakeRequest): Answer<typeof FilesMakeResponseSchema>;
  link(request: FilesLinkRequest): Answer<typeof FilesLinkResponseSchema>;
  move(request: FilesMoveRequest): Answer<typeof FilesMoveResponseSchema>;
  copy(request: FilesCopyRequest): Answer<typeof FilesCopyResponseSchema>;
  remove(request: FilesRemoveRequest): Answer<typeof FilesRemoveResponseSchema>;
  uploadPiece(request: FilesUploadPieceRequest): Answer<typeof FilesUploadPieceResponseSchema>;
  uploadStatus(request: FilesUploadStatusRequest): Answer<typeof FilesUploadStatusResponseSchema>;
  uploadCommit(request: FilesUploadCommitRequest): Answer<typeof FilesUploadCommitResponseSchema>;
  uploadDrop(request: FilesUploadDropRequest): Answer<typeof FilesUploadDropResponseSchema>;
  /** for the daemon's own use, as all below: git, as a command would run it */
  git(request: GitRequest): Promise<GitAnswer>;
  diffTexts(request: TextDiffRequest): Promise<TextDiffAnswer>;
  applyPatch(request: PatchRequest): Promise<PatchAnswer>;
}

/** Any number of answers; ends when the signal aborts. */
export interface FileStreams {
  listStream(
    request: FilesListStreamRequest,
    signal: AbortSignal,
  ): AsyncIterable<MessageInitShape<typeof FilesListStreamResponseSchema>>;
  watch(
    request: FilesWatchRequest,
    signal: AbortSignal,
  ): AsyncIterable<MessageInitShape<typeof FilesWatchResponseSchema>>;
  /** for the daemon's own use: all of a tree, with digests where they are wanted */
  tree(request: TreeRequest, signal: AbortSignal): AsyncIterable<TreePage>;
}

export type BoxFiles = FileVerbs & FileStreams;

export interface FileVerbsDeps {
  readonly policy: BoxPolicy;
  /** absent when the ledger is off */
  readonly journal: WriteJournal | undefined;
}

export function createFileVerbs({ policy, journal }: FileVerbsDeps): BoxFiles {
  const fence = createPathFence(policy);
  const search = createSearch(policy, fence);
  const oneByOne = createKeyedMutex();
  const uploads = createUploads({ fence, oneByOne });
  const watch = createWatch(fence);
  return {
    read: (request) => readFileRange(fence, request),
    write: createFileWrite({ fence, journal, oneByOne }),
    append: (request) => appendToFile({ fence, oneByOne }, request),
    list: (request) => listFolder(fence, request),
    stat: (request) => statPath(fence, request),
    grep: (request) => grepFiles(search, request),
    glob: (request) => globFiles(search, request),
    make: (request) => makeFolder(fence, request),
    link: (request) => makeLink(fence, request),
    move: (request) => movePath(fence, request),
    copy: (request) => copyPath(fence, request),
    remove: (request) => removePath(fence, request),
    uploadPiece: (request) => uploads.piece(request),
    uploadStatus: (request) => uploads.status(request),
    uploadCommit: (request) => uploads.commit(request),
    uploadDrop: (request) => uploads.drop(request),
    git: (request) => runGit({ policy, fence }, request),
    diffTexts,
    applyPatch: (request) => applyPatchTo(fence, request),
    listStream: (request) => streamFolder(fence, request),
    watch,
    tree: (request, signal) => walkTree(fence, request, signal),
  };
}
