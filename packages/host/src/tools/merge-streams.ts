/**
 * Turns the events of an execution into one text, in the order in which the box captured them. The result's head and
 * tail, the live output and the read of a handle all go through here, so that a position means the same in each.
 */
import type { ExecutionEvent, OutputStream } from "../box/box-port.ts";
import { createStreamDecoder, type StreamDecoder } from "./decode-output.ts";

export type MergedPart =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "gap"; readonly bytes: number; readonly reason: string };

export interface StreamMerger {
  take(event: ExecutionEvent): readonly MergedPart[];
  /** the unfinished characters of both streams */
  flush(): readonly MergedPart[];
  lossy(): boolean;
}

export function createStreamMerger(): StreamMerger {
  const decoders: Readonly<Record<OutputStream, StreamDecoder>> = {
    stdout: createStreamDecoder(),
    stderr: createStreamDecoder(),
  };
  const textParts = (...texts: readonly string[]): MergedPart[] =>
    texts.filter((text) => text !== "").map((text) => ({ kind: "text", text }));

  return {
    take(event) {
      switch (event.kind) {
        case "output":
          return textParts(decoders[event.stream].decode(event.bytes));
        case "gap":
          return [
            ...textParts(decoders[event.stream].flush()),
            { kind: "gap", bytes: event.to - event.from, reason: `${event.stream}, ${event.reason}` },
          ];
        case "started":
        case "exited":
        case "unknown":
        case "closed":
        case "keepalive":
          return [];
      }
    },
    flush: () => textParts(decoders.stdout.flush(), decoders.stderr.flush()),
    lossy: () => decoders.stdout.lossy() || decoders.stderr.lossy(),
  };
}
