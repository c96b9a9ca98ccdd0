/** The last bytes of what a server wrote to its standard error, for a person to look at. Never logged by us. */

export interface LogRing {
  add(bytes: Uint8Array): void;
  read(): { readonly data: Buffer; readonly dropped: number };
}

export function createLogRing(maxBytes: number): LogRing {
  let chunks: Buffer[] = [];
  let kept = 0;
  let dropped = 0;

  function trim(): void {
    if (kept <= maxBytes) return;
    const all = Buffer.concat(chunks);
    dropped += all.length - maxBytes;
    chunks = [all.subarray(all.length - maxBytes)];
    kept = maxBytes;
  }

  return {
    add(bytes) {
      chunks.push(Buffer.from(bytes));
      kept += bytes.length;
      // Only now and then, so that a flood of small pieces isn't copied again for each of them.
      if (kept > 2 * maxBytes) trim();
    },
    read() {
      trim();
      return { data: Buffer.concat(chunks), dropped };
    },
  };
}
