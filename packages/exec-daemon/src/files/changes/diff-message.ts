/** The answer to one question for differences, as the messages have it. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { DiffFileSchema } from "@sand/protocol/exec";

export type DiffFileMessage = MessageInitShape<typeof DiffFileSchema>;

export interface Difference {
  readonly files: DiffFileMessage[];
  readonly patch: Uint8Array<ArrayBuffer>;
  readonly truncated: boolean;
}
