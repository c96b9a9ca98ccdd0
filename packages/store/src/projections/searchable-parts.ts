/**
 * What of a transcript entry can be found: the message that people read, and the files that it carries.
 *
 * Tool calls and notices are left out, as from the main window, and so is what a client hides: branches and hidden
 * entries. Entries are read as plain JSON, since a store may hold kinds that this program doesn't make yet.
 */
import type { JsonObject, JsonValue } from "@sand/protocol";
import { storable } from "./search-text.ts";

export interface MessagePart {
  readonly role: "user" | "assistant";
  readonly timestampMs: number;
  readonly body: string;
}

export interface MediaPart {
  readonly fileName: string;
  readonly ext: string;
  readonly mime: string | null;
  readonly kind: "image" | "video" | "audio" | "file";
  readonly timestampMs: number;
  readonly width: number | null;
  readonly height: number | null;
}

export interface SearchableParts {
  readonly message: MessagePart | undefined;
  readonly media: readonly MediaPart[];
}

/** characters of a message that are kept and can be found; no entry of ours is longer */
const bodyMaxChars = 1_048_576;
/** files of one entry */
const mediaMax = 64;
const fileNameMaxChars = 1_000;

const nothing: SearchableParts = { message: undefined, media: [] };

export function searchableParts(entry: JsonObject): SearchableParts {
  if (isSet(entry.branched) || isSet(entry.hidden)) return nothing;
  const timestampMs = wholeTime(entry.timestampMs);
  if (entry.kind === "message") {
    const role = entry.role === "user" ? "user" : "assistant";
    return { message: messageOf(role, timestampMs, textOf(entry.content)), media: [] };
  }
  if (entry.kind === "send-message") return sentParts(asObject(entry.message), timestampMs);
  return entry.kind === "user-attachment"
    ? { message: undefined, media: mediaOf([entry], timestampMs) }
    : nothing;
}

function sentParts(sent: JsonObject, timestampMs: number): SearchableParts {
  const text = [sent.content, sent.prompt, sent.helpText].map(textOf).filter((part) => part !== "");
  const files = sent.type === "attachment" ? [sent] : Array.isArray(sent.images) ? sent.images : [];
  return {
    message: messageOf("assistant", timestampMs, text.join("\n")),
    media: mediaOf(files.map(asObject), timestampMs),
  };
}

function messageOf(role: MessagePart["role"], timestampMs: number, text: string): MessagePart | undefined {
  return text === "" ? undefined : { role, timestampMs, body: storable(text.slice(0, bodyMaxChars)) };
}

function mediaOf(files: readonly JsonObject[], timestampMs: number): readonly MediaPart[] {
  return files.slice(0, mediaMax).flatMap((file) => {
    const fileName = storable(nameOf(file)).slice(0, fileNameMaxChars).toWellFormed();
    if (fileName === "") return [];
    const ext = /\.([a-z0-9]{1,16})$/iu.exec(fileName)?.[1]?.toLowerCase() ?? "";
    const mime = textOf(file.mime) === "" ? (mimeOfExt.get(ext) ?? null) : storable(textOf(file.mime));
    const { width, height } = file;
    return [
      { fileName, ext, mime, kind: kindOf(mime), timestampMs, width: sizeOf(width), height: sizeOf(height) },
    ];
  });
}

/** A picture that stands in the message itself has no name. */
function nameOf(file: JsonObject): string {
  const given = textOf(file.file_name);
  if (given !== "") return given;
  const place = [file.file_path, file.path, file.url].map(textOf).find((text) => text !== "") ?? "";
  return place.startsWith("data:") ? "" : (place.split(/[?#]/u, 1)[0]?.split("/").at(-1) ?? "");
}

const mimeOfExt: ReadonlyMap<string, string> = new Map([
  ["png", "image/png"],
  ["jpg", "image/jpeg"],
  ["jpeg", "image/jpeg"],
  ["gif", "image/gif"],
  ["webp", "image/webp"],
  ["svg", "image/svg+xml"],
  ["mp4", "video/mp4"],
  ["m4v", "video/x-m4v"],
  ["mov", "video/quicktime"],
  ["webm", "video/webm"],
  ["ogv", "video/ogg"],
  ["mp3", "audio/mpeg"],
  ["wav", "audio/wav"],
  ["pdf", "application/pdf"],
  ["txt", "text/plain"],
]);

function kindOf(mime: string | null): MediaPart["kind"] {
  const main = mime?.split("/", 1)[0];
  return main === "image" || main === "video" || main === "audio" ? main : "file";
}

/** text as a string, or as the text parts of an array */
function textOf(value: JsonValue | undefined): string {
  if (typeof value === "string") return value;
  if (!Array.isArray(value)) return "";
  return value.map((part) => (typeof part === "string" ? part : textOf(asObject(part).text))).join("");
}

function asObject(value: JsonValue | undefined): JsonObject {
  return isObject(value) ? value : {};
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isSet(value: JsonValue | undefined): boolean {
  return value !== undefined && value !== null && value !== false && value !== 0;
}

/** a time that a row's id can be made of, in `ms` */
const timeMaxMs = 2 ** 42;

function wholeTime(value: JsonValue | undefined): number {
  return typeof value === "number" ? Math.min(Math.max(Math.trunc(value), 0), timeMaxMs) : 0;
}

function sizeOf(value: JsonValue | undefined): number | null {
  return typeof value === "number" && value >= 0 && value < timeMaxMs ? Math.trunc(value) : null;
}
