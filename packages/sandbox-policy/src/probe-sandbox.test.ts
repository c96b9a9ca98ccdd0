/** Row 47: what bubblewrap complains about where containers forbid something, in words that say what to change. */
import { expect, test } from "vitest";
import { nameMissing } from "./probe-sandbox.ts";

test.each([
  ["bwrap: No permissions to create new namespace, likely because …", /^user namespaces are not allowed/u],
  ["bwrap: setting up uid map: Permission denied", /^user namespaces are not allowed/u],
  ["bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted", /^a network namespace can't be set up/u],
  ["bwrap: loopback: Failed to look up lo: No such device", /^a network namespace can't be set up/u],
  ["bwrap: Can't mount proc on /newroot/proc: Operation not permitted", /^a fresh \/proc can't be mounted/u],
  ["bwrap: Failed to make / slave: Permission denied", /^bubblewrap can't set up its mounts .*slave/u],
  ["bwrap: pivot_root: Invalid argument", /^bubblewrap can't set up its mounts .*pivot_root/u],
  ["bwrap: prctl(PR_SET_SECCOMP): Invalid argument", /^a filter of system calls \(seccomp\) can't be set/u],
  ["canary: no filter", /takes no filter/u],
  ["canary: network", /shows more than loopback/u],
  ["", /did not see itself alone/u],
])("row 47: %s", (complaint, words) => {
  expect(nameMissing(`noise\n${complaint}\n`, false)).toMatch(words);
});

test("row 47: where all but the network works, it is the network's namespace that is missing", () => {
  const complaint = "bwrap: Creating new namespace failed: nesting depth exceeded (ENOSPC)";
  expect(nameMissing(complaint, true)).toMatch(/^a network namespace can't be set up/u);
});
