import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { EventType } from "@sand/protocol/e2b";
import { ChangeType, FileChangeSchema, FileType } from "@sand/protocol/exec";
import { expect, test } from "vitest";
import { toEvents } from "./watch-events.ts";

const file = { fileType: FileType.FILE, file: { sizeBytes: 1n } };
const empty = { fileType: FileType.FILE, file: { sizeBytes: 0n } };
const folder = { fileType: FileType.DIRECTORY };
const [made, written] = [
  { name: "n", type: EventType.CREATE },
  { name: "n", type: EventType.WRITE },
];

test.each<[string, MessageInitShape<typeof FileChangeSchema>, ReturnType<typeof toEvents>]>([
  ["a file that appears whole is made and written", { type: ChangeType.CREATE, ...file }, [made, written]],
  ["an empty one is only made", { type: ChangeType.CREATE, ...empty }, [made]],
  ["a folder is made", { type: ChangeType.CREATE, ...folder }, [made]],
  ["a write is a write", { type: ChangeType.WRITE, ...file }, [written]],
  ["a removal is one", { type: ChangeType.REMOVE }, [{ name: "n", type: EventType.REMOVE }]],
  ["another mode is one", { type: ChangeType.CHMOD }, [{ name: "n", type: EventType.CHMOD }]],
  [
    "a rename is told of the old name, and the new one is made",
    { type: ChangeType.RENAME, oldName: "old", ...folder },
    [{ name: "old", type: EventType.RENAME }, made],
  ],
  ["one from outside is made", { type: ChangeType.RENAME, ...file }, [made, written]],
  ["what isn't known is nothing", { type: ChangeType.UNSPECIFIED }, []],
])("%s", (_rule, change, events) => {
  expect(toEvents(create(FileChangeSchema, { name: "n", ...change }))).toEqual(events);
});
