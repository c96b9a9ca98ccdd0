/**
 * The native shim that a bundle carries. Empty in the sources, where the one that was built beside them is used; the
 * bundling script fills the table where a compiler is.
 */
export interface EmbeddedShim {
  /** of the program itself, in hex; also the name of the folder that it is unpacked to */
  readonly sha256: string;
  /** the program packed by brotli, in base64 */
  readonly packed: string;
}

/** by platform and architecture as in `linux-x64` */
export const embeddedShims: Readonly<Record<string, EmbeddedShim>> = {};
