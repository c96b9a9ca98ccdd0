/** Gathers the patches of many files into one, until it is as long as it may be. */
import { fileLimits } from "../file-limits.ts";

export interface PatchText {
  /** False when there is no room for it. */
  add(piece: Uint8Array): boolean;
  readonly truncated: boolean;
  whole(): Uint8Array<ArrayBuffer>;
}

export function createPatchText(): PatchText {
  const pieces: Uint8Array[] = [];
  let left: number = fileLimits.diffPatchMaxBytes;
  let truncated = false;
  return {
    add(piece) {
      if (piece.length > left) {
        truncated = true;
        return false;
      }
      pieces.push(piece);
      left -= piece.length;
      return true;
    },
    get truncated() {
      return truncated;
    },
    whole: () => new Uint8Array(Buffer.concat(pieces)),
  };
}
