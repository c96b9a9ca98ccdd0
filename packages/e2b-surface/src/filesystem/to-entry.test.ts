import { create } from "@bufbuild/protobuf";
import { EntryType } from "@sand/protocol/e2b";
import { FileInfoSchema, FileType } from "@sand/protocol/exec";
import { expect, test } from "vitest";
import { permissionText, toEntry } from "./to-entry.ts";

const names = { owner: (uid: number) => `u${uid}`, group: (gid: number) => `g${gid}` };

test.each([
  [FileType.FILE, 0o644, "-rw-r--r--"],
  [FileType.DIRECTORY, 0o755, "drwxr-xr-x"],
  [FileType.SYMLINK, 0o777, "lrwxrwxrwx"],
  [FileType.FILE, 0o4755, "-rwsr-xr-x"],
  [FileType.FILE, 0o2644, "-rw-r-Sr--"],
  [FileType.DIRECTORY, 0o1777, "drwxrwxrwt"],
  [FileType.DIRECTORY, 0o1776, "drwxrwxrwT"],
  [FileType.FILE, 0, "----------"],
])("permissions of type %i and mode %i are written as ls does", (type, mode, text) => {
  expect(permissionText(type, mode)).toBe(text);
});

test("a file is described with its owner, time and what was given along", () => {
  const info = create(FileInfoSchema, {
    ...{ path: "/home/user/a.txt", type: FileType.FILE, sizeBytes: 4n, mode: 0o644, uid: 1, gid: 2 },
    modifiedAtMs: 1234n,
  });
  expect(toEntry(info, names, { a: "1" })).toEqual({
    ...{ name: "a.txt", path: "/home/user/a.txt", type: EntryType.FILE, size: 4n, mode: 0o644 },
    ...{ permissions: "-rw-r--r--", owner: "u1", group: "g2", metadata: { a: "1" } },
    modifiedTime: { seconds: 1n, nanos: 234_000_000 },
  });
});

test("a link says where it leads, from the root", () => {
  const info = create(FileInfoSchema, { path: "/a/link", type: FileType.SYMLINK, linkTarget: "../b" });
  expect(toEntry(info, names)).toMatchObject({ type: EntryType.SYMLINK, symlinkTarget: "/b" });
});
