import { expect, test } from "vitest";
import { mayEnter, parsePasswd, runAsUser, undoRunAsUser } from "./command-user.ts";

const user = { uid: 1000, gid: 1000, name: "box", home: "/home/box" };

test("nothing of a request's environment reaches a program that still has privileges", () => {
  const run = { argv: ["/bin/bash", "-c", "id"], env: { LD_PRELOAD: "/w/evil.so", A: "b" }, cwd: "/w" };
  const planned = runAsUser(user, run);
  expect([planned.env, planned.cwd]).toEqual([{}, "/"]);
  const dropped = planned.argv.indexOf("--");
  expect(planned.argv.slice(0, dropped)).toEqual([
    ...["/usr/bin/setpriv", "--reuid=1000", "--regid=1000", "--clear-groups"],
    ...["--inh-caps=-all", "--ambient-caps=-all", "--no-new-privs"],
  ]);
  expect(planned.argv.slice(dropped + 1)).toEqual([
    ...["/usr/bin/env", "--ignore-environment", "--chdir=/w", "LD_PRELOAD=/w/evil.so", "A=b"],
    ...["/bin/bash", "-c", "id"],
  ]);
});

test("a run as that account gives back what it was made of, odd values too", () => {
  const env = { A: "b=c", EMPTY: "", LINES: "x\ny" };
  const run = { argv: ["/bin/bash", "-c", "A=1 id", "--", "B=2"], env, cwd: "/w/=x" };
  expect(undoRunAsUser(user, runAsUser(user, run))).toEqual(run);
});

test("accounts are read from a passwd file, and broken lines are left out", () => {
  const text = "root:x:0:0:root:/root:/bin/bash\n# no account\nbad:x:a:1::/x:\nbox:x:1000:1001::/home/box:\n";
  expect(parsePasswd(text)).toEqual([
    { name: "root", uid: 0, gid: 0, home: "/root" },
    { name: "box", uid: 1000, gid: 1001, home: "/home/box" },
  ]);
});

test.each([
  [{ uid: 1000, gid: 1, mode: 0o700 }, true],
  [{ uid: 1000, gid: 1, mode: 0o077 }, false],
  [{ uid: 1, gid: 1000, mode: 0o750 }, true],
  [{ uid: 1, gid: 1000, mode: 0o705 }, false],
  [{ uid: 1, gid: 1, mode: 0o711 }, true],
  [{ uid: 1001, gid: 1001, mode: 0o750 }, false],
])("a folder %o can be entered: %s", (folder, expected) => {
  expect(mayEnter(user, folder)).toBe(expected);
});
