/** Entries with the attributes that clients gave to them, where the machine keeps such. */
import type { FileInfo } from "@sand/protocol/exec";
import type { AttributePort } from "../surface-ports.ts";
import type { AccountNames } from "./account-names.ts";
import { type EntryInit, toEntry } from "./to-entry.ts";

export type DescribeFiles = (files: readonly FileInfo[]) => Promise<EntryInit[]>;

export function createDescribeFiles(
  names: AccountNames,
  attributes: AttributePort | undefined,
): DescribeFiles {
  return async (files) => {
    const found = (await attributes?.read(files.map((file) => file.path))) ?? [];
    return files.map((file, index) => toEntry(file, names, found[index]));
  };
}
