/**
 * Names of variables that change how a program itself is loaded or finds its files. The loader ignores them for programs
 * that gain rights, and so must they be here: on the way to a command they would pass through programs that hold more
 * than the command does.
 */
const exact: ReadonlySet<string> = new Set([
  ...["BASH_ENV", "ENV", "GCONV_PATH", "GETCONF_DIR", "GLIBC_TUNABLES", "HOSTALIASES", "IFS", "LOCALDOMAIN"],
  ...["LOCPATH", "NIS_PATH", "NLSPATH", "NODE_OPTIONS", "RESOLV_HOST_CONF", "RES_OPTIONS", "SHELLOPTS"],
  ...["TMPDIR", "TZDIR", "PATH", "BASHOPTS", "PS4", "POSIXLY_CORRECT"],
]);
const prefixes = ["LD_", "MALLOC_", "BASH_FUNC_", "SAND_"] as const;

export function isTrustedName(name: string): boolean {
  return !exact.has(name) && !prefixes.some((prefix) => name.startsWith(prefix));
}
