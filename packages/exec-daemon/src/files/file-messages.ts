/**
 * What the daemon and its file process say to each other: over Node's own channel, structured clones, so that bytes and
 * large numbers go as they are. Both ends are this program, of the same build.
 */
import type { BoxPolicy } from "../box-policy.ts";
import type { FileStreams, FileVerbs } from "./file-verbs.ts";
import type { WriteIntent } from "./write-journal.ts";

export type FileVerb = keyof FileVerbs;
export type FileStream = keyof FileStreams;

export type ToFileProcess =
  | { readonly kind: "open"; readonly policy: BoxPolicy; readonly hasJournal: boolean }
  | { readonly kind: "request"; readonly id: number; readonly verb: FileVerb; readonly request: object }
  | { readonly kind: "stream"; readonly id: number; readonly stream: FileStream; readonly request: object }
  /** asks for the next item of a stream, so that no more are made than are taken */
  | { readonly kind: "pull"; readonly id: number }
  | { readonly kind: "cancel"; readonly id: number }
  /** what the journal says to the question `id` */
  | { readonly kind: "journal"; readonly id: number; readonly intent: WriteIntent | undefined }
  | { readonly kind: "journal-failed"; readonly id: number };

export type FromFileProcess =
  | { readonly kind: "answer"; readonly id: number; readonly answer: object }
  | { readonly kind: "problem"; readonly id: number; readonly problem: FileProblem }
  /** a stream has nothing more */
  | { readonly kind: "end"; readonly id: number }
  /** the journal lies where this process can't reach, so its daemon keeps it */
  | { readonly kind: "find"; readonly id: number; readonly operationId: string }
  | {
      readonly kind: "put";
      readonly id: number;
      readonly operationId: string;
      readonly intent: WriteIntent;
    };

export interface FileProblem {
  /** of our table; undefined is an error that nobody expected */
  readonly code: string | undefined;
  readonly message: string;
}
