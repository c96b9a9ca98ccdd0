/**
 * Compiles the rules to a classic BPF program, as bubblewrap takes it with `--seccomp`: eight bytes an instruction,
 * little-endian. No library does it for us without a compiler, and the program is short.
 *
 * The architecture is looked at first, because a number means another call on another one: a foreign one kills the
 * process, and x32's numbers (x64 with a high bit) don't exist.
 */
import { invariant } from "@sand/protocol";
import { type Condition, errnos, type FilterRule, filterRules, netlinkFamily } from "./filter-rules.ts";
import { type Architecture, numberOf } from "./syscall-numbers.ts";

interface Instruction {
  readonly code: number;
  readonly jumpTrue: number;
  readonly jumpFalse: number;
  readonly k: number;
}

const codes = { load: 0x20, jumpEqual: 0x15, jumpAbove: 0x35, jumpBits: 0x45, answer: 0x06 } as const;
const answers = { allow: 0x7fff_0000, errno: 0x0005_0000, kill: 0x8000_0000 } as const;
const offsets = { number: 0, architecture: 4, args: 16 } as const;
const auditNames = { x64: 0xc000_003e, arm64: 0xc000_00b7 } as const;
const x32Bit = 0x4000_0000;

export function compileFilter(architecture: Architecture): Uint8Array {
  const program = [
    load(offsets.architecture),
    jump(codes.jumpEqual, auditNames[architecture], 1, 0),
    answer(answers.kill),
    load(offsets.number),
    ...(architecture === "x64" ? [jump(codes.jumpAbove, x32Bit, 0, 1), refuse(errnos.ENOSYS)] : []),
    ...compileSearch(numberRules(architecture)),
  ];
  return encode(program);
}

interface NumberedRule {
  readonly number: number;
  readonly rule: FilterRule;
}

function numberRules(architecture: Architecture): readonly NumberedRule[] {
  return filterRules
    .flatMap((rule) => {
      const number = numberOf(rule.name, architecture);
      return number === null ? [] : [{ number, rule }];
    })
    .sort((a, b) => a.number - b.number);
}

/** a few numbers are compared one after the other */
const leafMax = 4;

/** By halves: the kernel goes through the program for every number there is when it takes a filter, at each start. */
function compileSearch(rules: readonly NumberedRule[]): readonly Instruction[] {
  const middle = Math.floor(rules.length / 2);
  const split = rules[middle];
  if (rules.length <= leafMax || split === undefined)
    return [...rules.flatMap((one) => compileRule(one)), answer(answers.allow)];
  const below = compileSearch(rules.slice(0, middle));
  return [
    jump(codes.jumpAbove, split.number, below.length, 0),
    ...below,
    ...compileSearch(rules.slice(middle)),
  ];
}

function compileRule({ number, rule }: NumberedRule): readonly Instruction[] {
  const body = rule.name === "socket" ? [...compileNetlink(), ...compileBody(rule)] : compileBody(rule);
  return [jump(codes.jumpEqual, number, 0, body.length), ...body];
}

/** Ends in an answer: another rule for the same call is never looked for. */
function compileBody(rule: FilterRule): readonly Instruction[] {
  if (rule.when.length === 0) return [refuse(rule.errno)];
  return [
    ...rule.when.flatMap((condition) => compileCondition(condition, rule.errno)),
    answer(answers.allow),
  ];
}

/** Refuses where the condition holds, else goes on behind itself. */
function compileCondition(condition: Condition, errno: number): readonly Instruction[] {
  const argument = load(offsets.args + 8 * condition.arg);
  switch (condition.kind) {
    case "any-bit":
      return [argument, jump(codes.jumpBits, condition.mask, 0, 1), refuse(errno)];
    case "lacks-bit":
      return [argument, jump(codes.jumpBits, condition.mask, 1, 0), refuse(errno)];
    case "one-of":
      return [argument, ...condition.values.flatMap((value) => [equal(value, 0, 1), refuse(errno)])];
    case "none-of": {
      const { values } = condition;
      return [argument, ...values.map((value, at) => equal(value, values.length - at, 0)), refuse(errno)];
    }
  }
}

/** netlink for routes (protocol 0) and no other */
function compileNetlink(): readonly Instruction[] {
  return [
    load(offsets.args),
    equal(netlinkFamily, 0, 3),
    load(offsets.args + 8 * 2),
    equal(0, 1, 0),
    refuse(errnos.EAFNOSUPPORT),
  ];
}

const load = (offset: number): Instruction => ({ code: codes.load, jumpTrue: 0, jumpFalse: 0, k: offset });
const answer = (k: number): Instruction => ({ code: codes.answer, jumpTrue: 0, jumpFalse: 0, k });
const refuse = (errno: number): Instruction => answer(answers.errno | errno);
const jump = (code: number, k: number, jumpTrue: number, jumpFalse: number): Instruction => ({
  code,
  jumpTrue,
  jumpFalse,
  k,
});
const equal = (k: number, jumpTrue: number, jumpFalse: number): Instruction =>
  jump(codes.jumpEqual, k, jumpTrue, jumpFalse);

function encode(program: readonly Instruction[]): Uint8Array {
  invariant(
    program.every(({ jumpTrue, jumpFalse }) => jumpTrue < 256 && jumpFalse < 256),
    "a jump of a filter has eight bits",
  );
  const bytes = new DataView(new ArrayBuffer(program.length * 8));
  program.forEach((instruction, at) => {
    bytes.setUint16(at * 8, instruction.code, true);
    bytes.setUint8(at * 8 + 2, instruction.jumpTrue);
    bytes.setUint8(at * 8 + 3, instruction.jumpFalse);
    bytes.setUint32(at * 8 + 4, instruction.k >>> 0, true);
  });
  return new Uint8Array(bytes.buffer);
}
