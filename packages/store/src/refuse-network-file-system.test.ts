import { expect, test } from "vitest";
import { networkFileSystemName } from "./refuse-network-file-system.ts";

test.each([
  ["NFS", 0x6969],
  ["CIFS", 0xff534d42],
  ["CIFS, as a signed number", 0xff534d42 | 0],
  ["SMB2, as a signed number", 0xfe534d42 | 0],
  ["9P", 0x01021997],
])("%s is refused", (_name, type) => {
  expect(networkFileSystemName(type)).toBeTypeOf("string");
});

test.each([
  ["ext4", 0xef53],
  ["overlay", 0x794c7630],
  ["tmpfs", 0x01021994],
  ["btrfs", 0x9123683e],
  ["XFS", 0x58465342],
])("%s is fit for a store", (_name, type) => {
  expect(networkFileSystemName(type)).toBeUndefined();
});
