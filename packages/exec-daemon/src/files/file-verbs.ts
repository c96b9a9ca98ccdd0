/** The file operations behind one door, so that they can run here or in a process of the commands' account. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type {
  FilesGlobRequest,
  FilesGlobResponseSchema,
  FilesGrepRequest,
  FilesGrepResponseSchema,
  FilesListRequest,
  FilesListResponseSchema,
  FilesReadRequest,
  FilesReadResponseSchema,
  FilesStatRequest,
  FilesStatResponseSchema,
  FilesWriteRequest,
  FilesWriteResponseSchema,
} from "@sand/protocol/exec";
import type { BoxPolicy } from "../box-policy.ts";
import { globFiles } from "./glob.ts";
import { grepFiles } from "./grep.ts";
import { listFolder, statPath } from "./list.ts";
import { createPathFence } from "./path-fence.ts";
import { readFileRange } from "./read.ts";
import { createSearch } from "./search-program.ts";
import { createFileWrite } from "./write.ts";
import type { WriteJournal } from "./write-journal.ts";

export interface FileVerbs {
  read(request: FilesReadRequest): Promise<MessageInitShape<typeof FilesReadResponseSchema>>;
  write(request: FilesWriteRequest): Promise<MessageInitShape<typeof FilesWriteResponseSchema>>;
  list(request: FilesListRequest): Promise<MessageInitShape<typeof FilesListResponseSchema>>;
  stat(request: FilesStatRequest): Promise<MessageInitShape<typeof FilesStatResponseSchema>>;
  grep(request: FilesGrepRequest): Promise<MessageInitShape<typeof FilesGrepResponseSchema>>;
  glob(request: FilesGlobRequest): Promise<MessageInitShape<typeof FilesGlobResponseSchema>>;
}

export interface FileVerbsDeps {
  readonly policy: BoxPolicy;
  /** absent when the ledger is off */
  readonly journal: WriteJournal | undefined;
}

export function createFileVerbs({ policy, journal }: FileVerbsDeps): FileVerbs {
  const fence = createPathFence(policy);
  const search = createSearch(policy, fence);
  const write = createFileWrite({ fence, journal });
  return {
    read: (request) => readFileRange(fence, request),
    write: (request) => write(request),
    list: (request) => listFolder(fence, request),
    stat: (request) => statPath(fence, request),
    grep: (request) => grepFiles(search, request),
    glob: (request) => globFiles(search, request),
  };
}
