import { expect, test } from "vitest";
import type { SandboxPolicy } from "./enclosed-policy.ts";
import { planSandbox } from "./plan-sandbox.ts";

const policy: SandboxPolicy = {
  workspaceRoot: "/home/box/data/workspace",
  temporaryRoot: "/home/box/data/tmp",
  writableRoots: [],
  readOnlyRoots: [],
  masked: [{ path: "/home/box/data", kind: "folder" }],
};
const run = { cwd: "/home/box/data/workspace", argv: ["/bin/true"], infoFd: 3 };

function mountsOf(changed: Partial<SandboxPolicy>): string {
  const args = planSandbox({ ...policy, ...changed }, run);
  return args.slice(args.indexOf("/tmp") + 1, args.indexOf("--new-session")).join(" ");
}

test("the root is read-only, then come fresh devices and processes, then the mounts, then the command", () => {
  const args = planSandbox(policy, run);
  expect(args.slice(args.indexOf("--ro-bind"))).toEqual([
    ...["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--bind", "/home/box/data/tmp", "/tmp"],
    ...["--tmpfs", "/home/box/data", "--bind", "/home/box/data/workspace", "/home/box/data/workspace"],
    ...["--new-session", "--info-fd", "3", "--chdir", "/home/box/data/workspace", "--", "/bin/true"],
  ]);
});

test("a run has its own user, process and session namespaces and dies with its parent", () => {
  const args = planSandbox(policy, run);
  for (const flag of [
    "--unshare-user",
    "--unshare-pid",
    "--die-with-parent",
    "--new-session",
    "--cap-drop",
  ]) {
    expect(args).toContain(flag);
  }
});

test("a mask inside the workspace is mounted after it", () => {
  expect(mountsOf({ workspaceRoot: "/w", masked: [{ path: "/w/.sand", kind: "folder" }] })).toBe(
    "--bind /w /w --tmpfs /w/.sand",
  );
});

test("a masked file is covered by the empty device", () => {
  expect(mountsOf({ workspaceRoot: "/w", masked: [{ path: "/etc/token", kind: "file" }] })).toBe(
    "--bind /w /w --ro-bind /dev/null /etc/token",
  );
});

test("a mask in the hidden /tmp is left out unless a writable root shows it", () => {
  const masked = [
    { path: "/tmp/a/data", kind: "folder" },
    { path: "/tmp/b/data", kind: "folder" },
  ] as const;
  expect(mountsOf({ workspaceRoot: "/tmp/b", masked })).toBe("--bind /tmp/b /tmp/b --tmpfs /tmp/b/data");
});

test.each(["/home/box/data", "/home/box/data/executions"])(
  "a writable root can't open the mask: %s",
  (root) => {
    expect(() => mountsOf({ writableRoots: [root] })).toThrow(
      expect.objectContaining({ code: "exec/invalid" }),
    );
  },
);

test("a writable root above a mask leaves the mask in force", () => {
  expect(mountsOf({ workspaceRoot: "/w", writableRoots: ["/home"] })).toBe(
    "--bind /home /home --bind /w /w --tmpfs /home/box/data",
  );
});

test("a protected path is a mount of its own, and so is every folder between it and the writable root", () => {
  const protectedPaths = [
    { path: "/w/a/.git/hooks", how: "read-only", rule: "git" },
    { path: "/w/.sand", how: "absent-folder", rule: "agent settings" },
    { path: "/w/.mcp.json", how: "absent-file", rule: "agent settings" },
    { path: "/w/notes", how: "kept", rule: "keptPaths" },
    { path: "/elsewhere/.git/hooks", how: "read-only", rule: "git" },
  ] as const;
  expect(mountsOf({ workspaceRoot: "/w", masked: [], protectedPaths }).split(" --")).toEqual([
    "--bind /w /w",
    ...["ro-bind /w/.mcp.json /w/.mcp.json", "perms 0555", "tmpfs /w/.sand", "bind /w/a /w/a"],
    ...["bind /w/notes /w/notes", "bind /w/a/.git /w/a/.git", "ro-bind /w/a/.git/hooks /w/a/.git/hooks"],
  ]);
});

test("a workspace for reading is bound for reading, and nothing in it has to be protected further", () => {
  const protectedPaths = [{ path: "/w/.git/hooks", how: "read-only", rule: "git" }] as const;
  expect(mountsOf({ workspaceRoot: "/w", workspaceAccess: "read", masked: [], protectedPaths })).toBe(
    "--ro-bind /w /w",
  );
});

test("a writable root within a protected path is refused", () => {
  const protectedPaths = [{ path: "/w/.git/hooks", how: "read-only", rule: "git" }] as const;
  expect(() => mountsOf({ workspaceRoot: "/w", protectedPaths, writableRoots: ["/w/.git/hooks/x"] })).toThrow(
    expect.objectContaining({ code: "exec/invalid" }),
  );
});

test("where reads are listed only the system, the workspace and the named paths are there", () => {
  const args = planSandbox(
    {
      ...policy,
      reads: "listed",
      readOnlyRoots: ["/srv/data"],
      masked: [{ path: "/home/x/.ssh", kind: "folder" }],
    },
    run,
  ).join(" ");
  expect(args).not.toContain("--ro-bind / /");
  expect(args).toContain("--ro-bind-try /usr /usr");
  expect(args).toContain("--ro-bind /srv/data /srv/data");
  expect(args).toContain("--remount-ro / ");
  expect(args).not.toContain("/home/x/.ssh");
});

test("a network that isn't open is one of its own, with the proxy's socket where there is one", () => {
  const argsOf = (network: SandboxPolicy["network"]): string =>
    planSandbox(network === undefined ? policy : { ...policy, network }, run).join(" ");
  expect(argsOf(undefined)).not.toContain("--unshare-net");
  expect(argsOf({ kind: "none" })).toContain("--unshare-net");
  const proxied = argsOf({ kind: "proxied", socketFolder: "/s" });
  expect(proxied).toContain("--unshare-net");
  expect(proxied).toContain("--ro-bind /s /dev/sand-egress");
});
