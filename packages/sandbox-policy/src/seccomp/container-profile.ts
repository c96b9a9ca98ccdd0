/**
 * The seccomp profile for a container in which commands are enclosed as well, in the form that Docker takes. Docker's
 * own profile allows neither namespaces nor mounts to a process without privileges, and bubblewrap needs both.
 *
 * It allows all calls but those that no box needs. Commands have a stricter filter of their own on top.
 */
import { filterRules } from "./filter-rules.ts";
import type { SyscallName } from "./syscall-numbers.ts";

/** what bubblewrap, libc or the daemon uses; commands are kept from it by their own filter */
const needed: ReadonlySet<SyscallName> = new Set<SyscallName>([
  ...(["clone", "clone3", "unshare", "setns", "mount", "umount2", "pivot_root", "chroot"] as const),
  ...(["socketpair", "memfd_create", "execveat", "ioctl", "sethostname", "setdomainname"] as const),
]);

/** not in the commands' filter, because there they fail for other reasons or don't exist */
const others = [
  ...["_sysctl", "create_module", "get_kernel_syms", "lookup_dcookie", "nfsservctl", "query_module"],
  ...["stime", "sysfs", "uselib", "ustat", "vhangup", "vm86", "vm86old"],
] as const;

const closedFamilies = { vsock: 40, crypto: 38 } as const;

export function describeContainerProfile(): object {
  const names = filterRules
    .filter(({ name, when }) => !needed.has(name) && when.length === 0)
    .map(({ name }) => name);
  const refuse = { action: "SCMP_ACT_ERRNO", errnoRet: 1 } as const;
  return {
    defaultAction: "SCMP_ACT_ALLOW",
    architectures: ["SCMP_ARCH_X86_64", "SCMP_ARCH_AARCH64"],
    syscalls: [
      { names: [...names, ...others].sort(), ...refuse },
      ...Object.values(closedFamilies).map((value) => ({
        ...{ names: ["socket"], ...refuse },
        args: [{ index: 0, value, op: "SCMP_CMP_EQ" }],
      })),
    ],
  };
}
