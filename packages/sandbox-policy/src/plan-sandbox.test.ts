import { expect, test } from "vitest";
import { planSandbox, type SandboxPolicy } from "./plan-sandbox.ts";

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
  return args.slice(args.indexOf("/tmp") + 1, args.indexOf("--info-fd")).join(" ");
}

test("the root is read-only, then come fresh devices and processes, then the mounts, then the command", () => {
  const args = planSandbox(policy, run);
  expect(args.slice(args.indexOf("--ro-bind"))).toEqual([
    ...["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--bind", "/home/box/data/tmp", "/tmp"],
    ...["--tmpfs", "/home/box/data", "--bind", "/home/box/data/workspace", "/home/box/data/workspace"],
    ...["--info-fd", "3", "--chdir", "/home/box/data/workspace", "--", "/bin/true"],
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
