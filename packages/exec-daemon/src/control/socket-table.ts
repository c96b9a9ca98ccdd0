/** The kernel's tables of TCP sockets, as text and as rows. Pure. */

export interface ListeningSocket {
  readonly port: number;
  readonly address: string;
  readonly inode: string;
}

const listenState = "0A";

/** The listening sockets of `/proc/net/tcp` or `tcp6`. */
export function parseListening(table: string): readonly ListeningSocket[] {
  return table.split("\n").flatMap((line) => {
    const [, local = "", , state, , , , , , inode = ""] = line.trim().split(/\s+/u);
    const [address = "", port = ""] = local.split(":");
    if (state !== listenState || !/^\d+$/u.test(inode) || !/^[0-9A-F]{4}$/u.test(port)) return [];
    return [{ port: Number.parseInt(port, 16), address: decodeAddress(address), inode }];
  });
}

/** Words of four bytes, each in the order of the machine, which is the little end first wherever we run. */
function decodeAddress(hex: string): string {
  const bytes = (hex.match(/.{8}/gu) ?? []).flatMap((word) =>
    (word.match(/../gu) ?? []).reverse().map((byte) => Number.parseInt(byte, 16)),
  );
  if (bytes.length === 4) return bytes.join(".");
  const groups = Array.from({ length: 8 }, (_, at) =>
    (((bytes[2 * at] ?? 0) << 8) | (bytes[2 * at + 1] ?? 0)).toString(16),
  );
  return shortenZeros(groups);
}

/** The longest run of zeros becomes `::`. */
function shortenZeros(groups: readonly string[]): string {
  const runs = groups.join(":").match(/(?:^|:)0(?::0)+(?=:|$)/gu) ?? [];
  const longest = [...runs].sort((a, b) => b.length - a.length)[0];
  const text = groups.join(":");
  if (longest === undefined) return text;
  const at = text.indexOf(longest);
  return `${text.slice(0, at)}::${text.slice(at + longest.length).replace(/^:/u, "")}`;
}
