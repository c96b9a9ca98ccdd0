/** What of a message's bytes can be handed to another thread instead of being copied: buffers that hold nothing else. */
export function buffersToHandOver(blobs: readonly Uint8Array[]): readonly ArrayBuffer[] {
  const whole = blobs.flatMap(({ buffer, byteLength }) =>
    buffer instanceof ArrayBuffer && buffer.byteLength === byteLength ? [buffer] : [],
  );
  return [...new Set(whole)];
}
