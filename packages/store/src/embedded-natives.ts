/**
 * The SQLite addons that a bundle carries. Empty in the sources, where the package finds its own;
 * the bundling script fills the table, one entry for each Linux target.
 */
export interface EmbeddedNative {
  /** of the addon itself, in hex; also the name of the folder that it is unpacked to */
  readonly sha256: string;
  /** the addon, compressed with brotli, in base64 */
  readonly packed: string;
}

/** by platform and architecture as in `linux-x64` */
export const embeddedNatives: Readonly<Record<string, EmbeddedNative>> = {};
