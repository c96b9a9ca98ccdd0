/** The file side of the box's client. */
import type { Client } from "@connectrpc/connect";
import type { Files } from "@sand/protocol/exec";
import { askBox } from "./box-call.ts";
import type { BoxFiles, WritePrecondition } from "./box-files-port.ts";
import { toFileFacts } from "./from-wire.ts";

/** a large file over loopback, and a search with its own deadline of 20 s in the daemon */
const fileTimeoutMs = 30_000;
const searchTimeoutMs = 40_000;

export function createBoxFiles(files: () => Client<typeof Files>): BoxFiles {
  return {
    read: (path, range, signal) =>
      askBox(fileTimeoutMs, signal, async (options) => {
        const answer = await files().read(
          { path, offset: BigInt(range.offset), lengthMax: range.lengthMax ?? 0 },
          options,
        );
        const { sha256, binary } = answer;
        const [offset, totalBytes] = [Number(answer.offset), Number(answer.totalBytes)];
        return {
          outcome: "ok",
          path: answer.path,
          bytes: answer.data,
          offset,
          totalBytes,
          sha256,
          binary,
        } as const;
      }),
    write: (spec, signal) =>
      askBox(fileTimeoutMs, signal, async (options) => {
        const { path, operationId, bytes, mode } = spec;
        const precondition = toPrecondition(spec.precondition);
        const request = { path, operationId, data: bytes, precondition, ...(mode === null ? {} : { mode }) };
        const { existing, created, sha256, sizeBytes } = await files().write(request, options);
        return { outcome: "written", existing, created, sha256, sizeBytes: Number(sizeBytes) } as const;
      }),
    list: (spec, signal) =>
      askBox(fileTimeoutMs, signal, async (options) => {
        const answer = await files().list(spec, options);
        return {
          outcome: "ok",
          entries: answer.entries.map(toFileFacts),
          truncated: answer.truncated,
        } as const;
      }),
    stat: (path, signal) =>
      askBox(fileTimeoutMs, signal, async (options) => {
        const answer = await files().stat({ path }, options);
        return { outcome: "ok", file: toFileFacts(answer.file) } as const;
      }),
    grep: (spec, signal) =>
      askBox(searchTimeoutMs, signal, async (options) => {
        const answer = await files().grep({ ...spec, globs: [...spec.globs] }, options);
        const matches = answer.lines.map(({ path, line, text, isMatch }) => ({ path, line, text, isMatch }));
        return { outcome: "ok", matches, truncated: answer.truncated, timedOut: answer.timedOut } as const;
      }),
    glob: (spec, signal) =>
      askBox(searchTimeoutMs, signal, async (options) => {
        const { paths, truncated, timedOut } = await files().glob(spec, options);
        return { outcome: "ok", paths, truncated, timedOut } as const;
      }),
  };
}

function toPrecondition(precondition: WritePrecondition): string {
  switch (precondition.kind) {
    case "any":
      return "";
    case "absent":
      return "absent";
    case "sha256":
      return precondition.sha256;
  }
}
