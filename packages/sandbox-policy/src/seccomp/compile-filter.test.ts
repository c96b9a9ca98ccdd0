import { describe, expect, test } from "vitest";
import { compileFilter } from "./compile-filter.ts";
import { architectures, numberOf, type SyscallName, syscallNumbers } from "./syscall-numbers.ts";

const audit = { x64: 0xc000_003e, arm64: 0xc000_00b7, i386: 0x4000_0003 } as const;
const allowed = "allow";

/** Runs a program as the kernel would: the few instructions that ours uses. */
function judge(program: Uint8Array, arch: number, number: number, args: readonly number[] = []): string {
  const view = new DataView(program.buffer);
  const data = new DataView(new ArrayBuffer(64));
  data.setUint32(0, number, true);
  data.setUint32(4, arch, true);
  args.forEach((value, at) => {
    data.setBigUint64(16 + 8 * at, BigInt(value), true);
  });
  let accumulator = 0;
  for (let at = 0; at * 8 < program.length; at += 1) {
    const [code, k] = [view.getUint16(at * 8, true), view.getUint32(at * 8 + 4, true)];
    const [jumpTrue, jumpFalse] = [view.getUint8(at * 8 + 2), view.getUint8(at * 8 + 3)];
    if (code === 0x20) accumulator = data.getUint32(k, true);
    else if (code === 0x15) at += accumulator === k ? jumpTrue : jumpFalse;
    else if (code === 0x35) at += accumulator >= k ? jumpTrue : jumpFalse;
    else if (code === 0x45) at += (accumulator & k) !== 0 ? jumpTrue : jumpFalse;
    else if (code === 0x06) return nameAnswer(k);
    else throw new Error(`unknown instruction ${code.toString(16)}`);
  }
  throw new Error("the program has no end");
}

function nameAnswer(k: number): string {
  if (k === 0x7fff_0000) return allowed;
  return k === 0x8000_0000 ? "kill" : `errno ${k & 0xffff}`;
}

describe.each(architectures)("on %s", (architecture) => {
  const program = compileFilter(architecture);
  const ask = (name: SyscallName, ...args: readonly number[]): string =>
    judge(program, audit[architecture], numberOf(name, architecture) ?? -1, args);

  test.each([
    ["a new user namespace by clone", "clone", [0x1000_0011], "errno 1"],
    ["a new process", "clone", [0x0120_0011], allowed],
    ["a new mount namespace by unshare", "unshare", [0x2_0000], "errno 1"],
    ["a new time namespace by unshare", "unshare", [0x80], "errno 1"],
    ["open files of its own", "unshare", [0x400], allowed],
    ["clone3", "clone3", [], "errno 38"],
    ["io_uring", "io_uring_setup", [1], "errno 1"],
    ["another process's memory", "process_vm_readv", [1], "errno 1"],
    ["keys", "keyctl", [0], "errno 1"],
    ["vsock", "socket", [40, 1, 0], "errno 97"],
    ["packets", "socket", [17, 3, 0], "errno 97"],
    ["a unix socket", "socket", [1, 1, 0], allowed],
    ["an internet socket", "socket", [2, 1, 6], allowed],
    ["netlink for routes", "socket", [16, 3, 0], allowed],
    ["netlink for audit", "socket", [16, 3, 9], "errno 97"],
    ["a family with junk in the upper half", "socket", [2 ** 32 + 40, 1, 0], "errno 97"],
    ["a pair of unix sockets", "socketpair", [1, 1, 0], allowed],
    ["a pair of others", "socketpair", [2, 1, 0], "errno 97"],
    ["a memory file that may be executed", "memfd_create", [0, 1], "errno 38"],
    ["a memory file sealed against it", "memfd_create", [0, 9], allowed],
    ["executing a descriptor", "execveat", [3, 0, 0, 0, 0x1000], "errno 1"],
    ["executing beneath a folder", "execveat", [3, 0, 0, 0, 0], allowed],
    ["typing into a terminal", "ioctl", [0, 0x5412], "errno 1"],
    ["the size of a terminal", "ioctl", [0, 0x5413], allowed],
  ] as const)("%s (%s %o): %s", (_, name, args, verdict) => {
    expect(ask(name, ...args)).toBe(verdict);
  });

  test("a call of another architecture kills, and reading a file doesn't", () => {
    expect(judge(program, audit.i386, 3)).toBe("kill");
    expect(judge(program, audit[architecture], 0)).toBe(allowed);
  });

  test("every call that is named and exists here meets a rule of its own", () => {
    const names = (Object.keys(syscallNumbers) as SyscallName[]).filter(
      (name) => numberOf(name, architecture) !== null,
    );
    // With every bit set each conditional rule holds, but for the one that asks for a missing bit.
    const all = [2 ** 32 - 1, 0x5412, 2 ** 32 - 1, 0, 0x1000, 0];
    const free = names.filter((name) => ask(name, ...all) === allowed);
    expect(free).toEqual([]);
    expect(ask("ptrace")).toBe("errno 1");
  });
});

test("x32's numbers don't exist on x64", () => {
  const program = compileFilter("x64");
  expect(judge(program, audit.x64, 0x4000_0000 + 39)).toBe("errno 38");
});
