/** Reads a whole file of bounded size, in pages that all belong to the same content. */
import { createHash } from "node:crypto";
import type { Refused } from "../box/box-files-port.ts";
import type { BoxPort } from "../box/box-port.ts";
import { readPageMaxBytes } from "./limits.ts";

export interface WholeFile {
  readonly outcome: "ok";
  readonly bytes: Buffer;
  /** hex digest of `bytes` */
  readonly sha256: string;
}

export async function readWholeFile(
  box: BoxPort,
  path: string,
  maxBytes: number,
): Promise<WholeFile | Refused> {
  const pages: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const page = await box.files.read(path, { offset: length, lengthMax: readPageMaxBytes });
    if (page.outcome === "refused") return page;
    if (page.totalBytes > maxBytes || length + page.bytes.length > maxBytes) {
      return {
        outcome: "refused",
        code: "file/too-large",
        message: `the file has ${page.totalBytes} bytes; at most ${maxBytes} are taken`,
      };
    }
    pages.push(page.bytes);
    length += page.bytes.length;
    if (page.bytes.length === 0 || length >= page.totalBytes) break;
  }
  // A change between two pages gives a digest that no state of the file has; the write's precondition then refuses.
  const bytes = Buffer.concat(pages);
  return { outcome: "ok", bytes, sha256: hashBytes(bytes) };
}

export function hashBytes(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
