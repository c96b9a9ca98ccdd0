/**
 * A write-ahead log needs memory that all processes on the file share, and locks that hold. File systems over a network
 * give neither, and a database there gets damaged without a word. So they are refused before the first file is made.
 */
import { statfsSync } from "node:fs";
import { BoxError } from "@sand/protocol";

/** file system types as Linux reports them, by their magic numbers */
const networkFileSystems: ReadonlyMap<number, string> = new Map([
  [0x6969, "NFS"],
  [0x517b, "SMB"],
  [0xff534d42, "CIFS"],
  [0xfe534d42, "SMB2"],
  [0x01021997, "9P"],
  [0x5346414f, "AFS"],
  [0x6b414653, "AFS"],
  [0x00c36400, "Ceph"],
  [0x73757245, "Coda"],
  [0x564c, "NCP"],
  [0x0bd00bd0, "Lustre"],
  [0x47504653, "GPFS"],
  [0x19830326, "BeeGFS"],
  [0x20030528, "OrangeFS"],
  // A machine's folders as its guest sees them: memory isn't shared over these either.
  [0x786f4256, "a VirtualBox folder"],
  [0xbacbacbc, "a VMware folder"],
]);

/** The name of a file system that a store can't lie on. Node gives the number signed on some systems. */
export function networkFileSystemName(type: number): string | undefined {
  return networkFileSystems.get(type >>> 0);
}

export function refuseNetworkFileSystem(folder: string): void {
  // Only Linux's numbers are known; elsewhere the field means something else.
  if (process.platform !== "linux") return;
  const name = networkFileSystemName(statfsSync(folder).type);
  if (name === undefined) return;
  throw new BoxError("config/invalid", `the data root lies on a network file system (${name})`, {
    hint: "set SAND_DATA_ROOT to a folder on a local disk",
  });
}
