import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { describeContainerProfile } from "../src/index.ts";

test("the profile beside the Dockerfile is the one that the rules make", () => {
  const file = join(import.meta.dirname, "../../../docker/seccomp.json");
  expect(JSON.parse(readFileSync(file, "utf8"))).toEqual(describeContainerProfile());
});

test("the profile allows what bubblewrap needs and refuses what no box needs", () => {
  const text = JSON.stringify(describeContainerProfile());
  for (const name of ["io_uring_setup", "keyctl", "bpf", "kexec_load"]) expect(text).toContain(`"${name}"`);
  for (const name of ["unshare", "mount", "pivot_root", "clone"]) expect(text).not.toContain(`"${name}"`);
});
