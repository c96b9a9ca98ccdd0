/**
 * What an enclosed command may not ask of the kernel. Everything else is allowed: the mounts and namespaces are the
 * fence, and these are the calls that could take it down or that reach around it.
 *
 * - New namespaces and mounts: inside a namespace of its own a command would have every capability again.
 * - `clone3` takes its flags by pointer, where no filter can look, so it doesn't exist here; libc falls back to `clone`.
 * - io_uring does its work without further calls, so no filter would see it.
 * - A program that exists in memory only (`memfd_create` without the seal against execution, `execveat` on a
 *   descriptor) leaves nothing that could be looked at.
 * - Terminal injection (TIOCSTI, TIOCLINUX) would type into whoever holds the other end.
 * - Address families: only those with which programs talk to each other and to the network. vsock reaches the
 *   machine's hypervisor past every network namespace.
 */
import type { SyscallName } from "./syscall-numbers.ts";

/** Every condition looks at the lower half of an argument: the kernel takes these as 32-bit numbers. */
export type Condition =
  | { readonly kind: "any-bit"; readonly arg: number; readonly mask: number }
  | { readonly kind: "lacks-bit"; readonly arg: number; readonly mask: number }
  | { readonly kind: "one-of"; readonly arg: number; readonly values: readonly number[] }
  | { readonly kind: "none-of"; readonly arg: number; readonly values: readonly number[] };

export interface FilterRule {
  readonly name: SyscallName;
  readonly errno: number;
  /** denied when one of these holds; none: always */
  readonly when: readonly Condition[];
}

export const errnos = { EPERM: 1, ENOSYS: 38, EAFNOSUPPORT: 97 } as const;

const newNamespaces = {
  time: 0x80,
  others: 0x0002_0000 | 0x0200_0000 | 0x0400_0000 | 0x0800_0000 | 0x1000_0000 | 0x2000_0000 | 0x4000_0000,
} as const;

const families = { unix: 1, inet: 2, inet6: 10, netlink: 16 } as const;
const terminalInjection = [0x5412, 0x541c] as const;
const executableMemfd = 0x8;
const emptyPath = 0x1000;

const neverAllowed: readonly SyscallName[] = [
  ...(["ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd", "kcmp"] as const),
  ...(["io_uring_setup", "io_uring_enter", "io_uring_register"] as const),
  ...(["keyctl", "add_key", "request_key"] as const),
  ...(["bpf", "perf_event_open", "userfaultfd", "fanotify_init"] as const),
  ...(["setns", "mount", "umount2", "pivot_root", "chroot"] as const),
  ...(["open_tree", "open_tree_attr", "move_mount", "mount_setattr"] as const),
  ...(["fsopen", "fsconfig", "fsmount", "fspick"] as const),
  ...(["open_by_handle_at", "quotactl", "quotactl_fd", "acct", "swapon", "swapoff"] as const),
  ...(["kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module", "reboot"] as const),
  ...(["iopl", "ioperm", "modify_ldt", "syslog", "sethostname", "setdomainname"] as const),
  ...(["settimeofday", "clock_settime", "adjtimex", "clock_adjtime"] as const),
];

export const filterRules: readonly FilterRule[] = [
  deny("clone", errnos.EPERM, { kind: "any-bit", arg: 0, mask: newNamespaces.others }),
  deny("unshare", errnos.EPERM, {
    kind: "any-bit",
    arg: 0,
    mask: newNamespaces.others | newNamespaces.time,
  }),
  deny("clone3", errnos.ENOSYS),
  deny("ioctl", errnos.EPERM, { kind: "one-of", arg: 1, values: terminalInjection }),
  deny("socket", errnos.EAFNOSUPPORT, { kind: "none-of", arg: 0, values: Object.values(families) }),
  deny("socketpair", errnos.EAFNOSUPPORT, { kind: "none-of", arg: 0, values: [families.unix] }),
  deny("memfd_create", errnos.ENOSYS, { kind: "lacks-bit", arg: 1, mask: executableMemfd }),
  deny("execveat", errnos.EPERM, { kind: "any-bit", arg: 4, mask: emptyPath }),
  ...neverAllowed.map((name) => deny(name, errnos.EPERM)),
];

/** Of netlink only routes are needed, by libc's look at its addresses; the rest speaks to subsystems of the kernel. */
export const netlinkFamily = families.netlink;

function deny(name: SyscallName, errno: number, ...when: readonly Condition[]): FilterRule {
  return { name, errno, when };
}
