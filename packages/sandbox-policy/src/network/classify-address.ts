/**
 * What kind of place an address is. Names lead anywhere, so the decision to dial is always made about the address that
 * was resolved, and that very address is the one that is dialled.
 */
import { BlockList, isIP } from "node:net";

export type AddressKind = "public" | "loopback" | "link-local" | "private" | "reserved";

const ranges: readonly (readonly [AddressKind, readonly string[]])[] = [
  ["loopback", ["127.0.0.0/8", "::1/128", "0.0.0.0/8", "::/128"]],
  // Cloud machines hand out credentials at these.
  ["link-local", ["169.254.0.0/16", "fe80::/10", "fd00:ec2::/32", "100.100.100.200/32", "168.63.129.16/32"]],
  ["private", ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7", "fec0::/10"]],
  [
    "reserved",
    [
      ...[
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.88.99.0/24",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
      ],
      ...["224.0.0.0/4", "240.0.0.0/4", "100::/64", "2001::/23", "2001:db8::/32", "3fff::/20", "5f00::/16"],
      "ff00::/8",
    ],
  ],
];

const lists = ranges.map(([kind, nets]) => [kind, listOf(nets)] as const);

/** Undefined when the text is no address. */
export function classifyAddress(text: string): AddressKind | undefined {
  const address = text.replace(/%.*$/u, "");
  const version = isIP(address);
  if (version === 0) return undefined;
  const embedded = version === 6 ? embeddedIpv4(address) : undefined;
  if (embedded !== undefined) return classifyAddress(embedded);
  const found = lists.find(([, list]) => list.check(address, version === 6 ? "ipv6" : "ipv4"));
  return found?.[0] ?? "public";
}

/** Whether `address` lies in one of these: addresses, or nets such as `10.1.0.0/16`. */
export function isInNets(address: string, nets: readonly string[]): boolean {
  const version = isIP(address);
  const fitting = nets.filter((net) => isIP(net.split("/")[0] ?? "") === version);
  return (
    version !== 0 && fitting.length > 0 && listOf(fitting).check(address, version === 6 ? "ipv6" : "ipv4")
  );
}

function listOf(nets: readonly string[]): BlockList {
  const list = new BlockList();
  for (const net of nets) {
    const [base = "", length] = net.split("/");
    const family = isIP(base) === 6 ? "ipv6" : "ipv4";
    list.addSubnet(base, Number(length ?? (family === "ipv6" ? 128 : 32)), family);
  }
  return list;
}

/** IPv4 in IPv6 clothes: mapped, compatible, translated (64:ff9b::) and 6to4. */
function embeddedIpv4(address: string): string | undefined {
  const words = expand(address);
  if (words === undefined) return undefined;
  const at = (index: number): number => words[index] ?? 0;
  const isZeroUpTo = (end: number): boolean => words.slice(0, end).every((word) => word === 0);
  const low = (high: number, next: number): string =>
    [high >> 8, high & 255, next >> 8, next & 255].join(".");
  if (isZeroUpTo(5) && at(5) === 0xffff) return low(at(6), at(7));
  if (isZeroUpTo(4) && at(4) === 0xffff && at(5) === 0) return low(at(6), at(7));
  if (isZeroUpTo(6) && at(6) !== 0) return low(at(6), at(7));
  if (at(0) === 0x64 && at(1) === 0xff9b) return low(at(6), at(7));
  return at(0) === 0x2002 ? low(at(1), at(2)) : undefined;
}

function expand(address: string): readonly number[] | undefined {
  const dotted = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/u.exec(address);
  const plain =
    dotted === null ? address : `${dotted[1]}${pairOf(dotted[2], dotted[3])}:${pairOf(dotted[4], dotted[5])}`;
  const [head = "", tail] = plain.split("::");
  const left = head === "" ? [] : head.split(":");
  const right = tail === undefined || tail === "" ? [] : tail.split(":");
  const missing = 8 - left.length - right.length;
  if (missing < 0) return undefined;
  return [...left, ...Array.from({ length: missing }, () => "0"), ...right].map((word) =>
    Number.parseInt(word, 16),
  );
}

function pairOf(high: string | undefined, low: string | undefined): string {
  return ((Number(high) << 8) | Number(low)).toString(16);
}
