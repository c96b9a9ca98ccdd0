/**
 * The node-pty addons that a bundle carries. Empty in the sources, where the package is found beside us; the bundling
 * script fills the table, one entry for each Linux target.
 */
export interface EmbeddedPty {
  /** of the addon itself, in hex; also the name of the folder that it is unpacked to */
  readonly sha256: string;
  /** the addon packed by brotli, in base64 */
  readonly packed: string;
}

/** by platform and architecture as in `linux-x64` */
export const embeddedPty: Readonly<Record<string, EmbeddedPty>> = {};
