import { expect, test } from "vitest";
import { parseListening } from "./socket-table.ts";

const head =
  "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n";
const row = (local: string, state: string, inode: string): string =>
  `   0: ${local} 00000000:0000 ${state} 00000000:00000000 00:00000000 00000000  1000        0 ${inode} 1 ffff 100 0 0 10 0\n`;

test("only listening sockets are rows", () => {
  const table = head + row("0100007F:1F90", "0A", "77") + row("0100007F:1F91", "01", "78");
  expect(parseListening(table)).toEqual([{ port: 8080, address: "127.0.0.1", inode: "77" }]);
});

test.each([
  ["00000000000000000000000000000000", "::"],
  ["00000000000000000000000001000000", "::1"],
  ["0000000000000000FFFF00000100007F", "::ffff:7f00:1"],
  ["B80D0120000000000000000001000000", "2001:db8::1"],
  ["000080FE000000000000000000000001", "fe80::100:0"],
])("%s is %s", (hex, address) => {
  expect(parseListening(row(`${hex}:0050`, "0A", "1"))[0]?.address).toBe(address);
});

test("a table that can't be read has no rows", () => {
  expect(parseListening("")).toEqual([]);
  expect(parseListening("junk\n1: x:y z 0A")).toEqual([]);
});
