import { expect, test } from "vitest";
import { ptyLimits } from "./pty-limits.ts";
import { createWriterLease } from "./writer-lease.ts";

function world() {
  let end = 0;
  const shut: boolean[] = [];
  const taken: string[] = [];
  const lease = createWriterLease<string>({
    end: () => end,
    onShut: (isShut) => shut.push(isShut),
    onChange: () => undefined,
    onTaken: (from) => taken.push(from),
  });
  const print = (bytes: number): void => {
    end += bytes;
    lease.update();
  };
  return { lease, shut, taken, print };
}

test("a second writer is refused, and gets the lease when it takes over", () => {
  const { lease, taken } = world();
  expect([lease.take("a", 0, false), lease.take("b", 0, false)]).toEqual([true, false]);
  expect([lease.take("b", 0, true), lease.holder]).toEqual([true, "b"]);
  expect(taken).toEqual(["a"]);
  lease.close();
});

test("a terminal is shut above the limit and opened when its writer has nearly caught up", () => {
  const { lease, shut, print } = world();
  lease.take("a", 0, false);
  print(ptyLimits.unackedMaxBytes);
  expect(shut).toEqual([]);
  print(1);
  expect(shut).toEqual([true]);
  lease.acknowledge("a", ptyLimits.unackedMaxBytes + 1 - ptyLimits.unackedResumeBytes - 1);
  expect(shut).toEqual([true]);
  lease.acknowledge("a", ptyLimits.unackedMaxBytes + 1 - ptyLimits.unackedResumeBytes);
  expect(shut).toEqual([true, false]);
  lease.close();
});

test("what a mere viewer acknowledges counts for nothing", () => {
  const { lease, shut, print } = world();
  lease.take("a", 0, false);
  print(ptyLimits.unackedMaxBytes + 1);
  lease.acknowledge("viewer", ptyLimits.unackedMaxBytes + 1);
  expect(shut).toEqual([true]);
  lease.close();
});

test("without a writer nothing is held up, also when it leaves while it is behind", () => {
  const { lease, shut, print } = world();
  print(10 * ptyLimits.unackedMaxBytes);
  expect(shut).toEqual([]);
  lease.take("a", 0, false);
  expect(shut).toEqual([true]);
  lease.release("a");
  expect(shut).toEqual([true, false]);
  lease.close();
});
