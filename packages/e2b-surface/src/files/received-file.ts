/** A file that was stored, as the plain endpoints tell it. */
export interface ReceivedFile {
  readonly path: string;
  readonly name: string;
  readonly type: "file";
  /** what was given along and is kept */
  readonly metadata?: Readonly<Record<string, string>>;
}
