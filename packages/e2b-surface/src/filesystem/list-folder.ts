/** A folder's entries to a depth, all of them. The folder may be reached by a link; links within are shown, not followed. */
import { Code, ConnectError } from "@connectrpc/connect";
import type { FileInfo } from "@sand/protocol/exec";
import { limits } from "../limits.ts";
import type { DaemonPorts } from "../surface-ports.ts";

export async function listFolder(
  files: DaemonPorts["files"],
  path: string,
  depth: number,
): Promise<readonly FileInfo[]> {
  const entries: FileInfo[] = [];
  for (let pageToken: Uint8Array | undefined; ; ) {
    const page = await files.list({ path, depth, ...(pageToken === undefined ? {} : { pageToken }) });
    entries.push(...page.entries);
    if (entries.length > limits.listEntriesMax) {
      throw new ConnectError(
        `the folder has more than ${limits.listEntriesMax} entries: list it with a smaller depth`,
        Code.OutOfRange,
      );
    }
    if (page.nextPageToken.length === 0) return entries;
    pageToken = page.nextPageToken;
  }
}
