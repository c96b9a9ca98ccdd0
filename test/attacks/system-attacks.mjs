/**
 * Attacks by system calls, in plain Perl, which every Debian has. A call is contained when the kernel refuses it with
 * the filter's own answer. Where it isn't filtered it does nothing: its arguments are ones that the kernel throws out.
 */

/** [name, number on x64, number on arm64, arguments, the error numbers of a refusal] */
const calls = [
  ["a user namespace by unshare", 272, 97, "0x10000000", [1]],
  ["a mount namespace by unshare", 272, 97, "0x20000", [1]],
  ["a user namespace by clone", 56, 220, "0x10000011,0,0,0,0", [1], "child"],
  ["clone3", 435, 435, "0,0", [38]],
  ["another's namespace", 308, 268, "-1,0", [1]],
  ["a mount", 165, 40, "0,0,0,0,0", [1]],
  ["unmounting", 166, 39, "0,0", [1]],
  ["another root", 155, 41, "0,0", [1]],
  ["a new mount by descriptor", 430, 430, "0,0", [1]],
  ["an open tree", 428, 428, "-1,0,0", [1]],
  ["ptrace", 101, 117, "16,0,0,0", [1]],
  ["another's memory", 310, 270, "0,0,0,0,0,0", [1]],
  ["another's descriptor", 438, 438, "-1,0,0", [1]],
  ["io_uring", 425, 425, "0,0", [1]],
  ["io_uring's second call", 426, 426, "-1,0,0,0,0,0", [1]],
  ["a keyring", 250, 219, "0,-3,0,0,0", [1]],
  ["a key", 248, 217, "0,0,0,0,0", [1]],
  ["BPF", 321, 280, "-1,0,0", [1]],
  ["performance events", 298, 241, "0,0,-1,-1,0", [1]],
  ["userfaultfd", 323, 282, "1", [1]],
  ["a file by handle", 304, 265, "-1,0,0", [1]],
  ["a memory file that may be executed", 319, 279, "$name,0", [38]],
  ["executing a descriptor", 322, 281, "-1,$empty,0,0,0x1000", [1]],
  ["vsock", 41, 198, "40,1,0", [97]],
  ["packets", 41, 198, "17,3,0", [97]],
  ["the kernel's cryptography", 41, 198, "38,5,0", [97]],
  ["netlink beyond routes", 41, 198, "16,3,9", [97]],
  ["typing into a terminal", 16, 29, "0,0x5412,$name", [1]],
  ["x32's getpid", 0x4000_0027, null, "", [38]],
];

function perl(number, args, refusals, kind) {
  const list = refusals.map((code) => `$! == ${code}`).join(" || ");
  // A child of a clone that worked has nothing to do.
  const child = kind === "child" ? "exit 0 if defined $r && $r == 0 && $$ != $me;" : "";
  return [
    "perl -e '",
    'my $name = "x\\0"; my $empty = "\\0"; my $me = $$; $! = 0;',
    `my $r = syscall(${[number, ...(args === "" ? [] : [args])].join(",")});`,
    child,
    `print "BREACH $r $!\\n" unless $r == -1 && (${list});'`,
  ].join(" ");
}

const byCall = calls.flatMap(([name, x64, arm64, args, refusals, kind]) => {
  const number = process.arch === "arm64" ? arm64 : x64;
  return number === null
    ? []
    : [{ group: "system", name: `system: ${name}`, script: perl(number, args, refusals, kind) }];
});

const byProgram = [
  [
    "a program from memory by its link",
    `perl -e '
    my $n = "m\\0"; my $fd = syscall(${process.arch === "arm64" ? 279 : 319}, $n, 0); exit if $fd < 0;
    open(my $in, "<", "/bin/true"); open(my $out, ">&=", $fd); local $/; print $out <$in>; $out->flush;
    exec "/proc/self/fd/$fd" if fork == 0; wait; print "BREACH\\n" if $? == 0;'`,
  ],
  ["a namespace by unshare's program", "unshare -Ur true && echo BREACH"],
  ["more namespaces by bubblewrap", "bwrap --unshare-user --ro-bind / / true && echo BREACH"],
  ["capabilities", "test $(awk '/^CapEff/ {print $2}' /proc/self/status) = 0000000000000000 || echo BREACH"],
  ["a process outside", "grep -qs exec-daemon /proc/$DAEMON/cmdline && kill -0 $DAEMON && echo BREACH"],
];

export const systemAttacks = [
  ...byCall,
  ...byProgram.map(([name, script]) => ({ group: "system", name: `system: ${name}`, script })),
];
