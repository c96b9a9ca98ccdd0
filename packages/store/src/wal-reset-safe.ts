/**
 * Says whether a SQLite version is free of the race in which a write-ahead log that is reset while another connection
 * checkpoints loses or corrupts committed pages. It came with 3.7.0 and was repaired in 3.51.3, with repairs for two
 * older lines. 3.52.0 was withdrawn by its makers.
 */
type Version = readonly [major: number, minor: number, patch: number];

const repairedIn: Version = [3, 51, 3];
const repairedLines: readonly Version[] = [
  [3, 50, 7],
  [3, 44, 6],
];
const withdrawn = "3.52.0";

export function isWalResetSafe(version: string): boolean {
  const parts = /^(\d+)\.(\d+)\.(\d+)/u.exec(version);
  if (parts === null || version === withdrawn) return false;
  const found: Version = [Number(parts[1]), Number(parts[2]), Number(parts[3])];
  if (compare(found, repairedIn) >= 0) return true;
  return repairedLines.some((line) => line[0] === found[0] && line[1] === found[1] && found[2] >= line[2]);
}

function compare(left: Version, right: Version): number {
  return left[0] - right[0] || left[1] - right[1] || left[2] - right[2];
}
