/** What a person writes for a box store: a folder, or `s3://bucket/prefix`. */
import { isAbsolute, resolve } from "node:path";
import { BoxError } from "@sand/protocol";

export type StoreAddress =
  | { readonly kind: "directory"; readonly path: string }
  | { readonly kind: "s3"; readonly bucket: string; readonly prefix: string };

export function parseStoreAddress(text: string, workingFolder: string): StoreAddress {
  if (!text.startsWith("s3:")) {
    if (/^[a-z][a-z0-9+.-]*:\/\//iu.test(text)) throw unusable(text, "only folders and s3:// are known");
    return { kind: "directory", path: isAbsolute(text) ? text : resolve(workingFolder, text) };
  }
  const match = /^s3:\/\/([a-z0-9][a-z0-9._-]{1,62})(?:\/(.*))?$/u.exec(text);
  const bucket = match?.[1];
  if (bucket === undefined) throw unusable(text, "S3 is written s3://bucket/prefix");
  const parts = (match?.[2] ?? "").split("/").filter((part) => part !== "");
  if (parts.some((part) => !/^[A-Za-z0-9!_.*'()-]{1,128}$/u.test(part) || part === "." || part === "..")) {
    throw unusable(text, "its prefix has characters that a key shouldn't have");
  }
  return { kind: "s3", bucket, prefix: parts.map((part) => `${part}/`).join("") };
}

function unusable(text: string, why: string): BoxError {
  return new BoxError("config/invalid", `${JSON.stringify(text.slice(0, 200))} names no box store: ${why}`, {
    hint: "give a folder, or s3://bucket/prefix",
  });
}
