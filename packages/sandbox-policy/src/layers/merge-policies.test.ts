import { expect, test } from "vitest";
import { mergePolicies } from "./merge-policies.ts";
import { hashPolicy } from "./policy-hash.ts";
import { parsePolicyFile } from "./policy-layer.ts";

test("without any layer everything is as loose as it gets, and nothing has to be explained", () => {
  expect(mergePolicies({}, "shell")).toMatchObject({ workspace: "write", network: "open", reasons: [] });
});

test("a later layer makes things stricter and never looser, and the answer says who decided", () => {
  const merged = mergePolicies(
    { administrator: { network: "none" }, user: { network: "listed", workspace: "read" } },
    "shell",
  );
  expect(merged).toMatchObject({ network: "none", workspace: "read" });
  expect(merged.reasons).toEqual([
    expect.objectContaining({ rule: "network", value: "none", layer: "administrator", outcome: "applied" }),
    expect.objectContaining({ rule: "workspace", value: "read", layer: "user", outcome: "applied" }),
    expect.objectContaining({
      ...{ rule: "network", value: "listed", layer: "user", outcome: "refused" },
      because: "it is none by a layer that is trusted more",
    }),
  ]);
});

test("a repository opens nothing and may close", () => {
  const { readOnlyPaths, writablePaths, privateHosts, hiddenPaths, reasons } = mergePolicies(
    {
      repository: {
        ...{ readOnlyPaths: ["/a"], writablePaths: ["/b"], privateHosts: ["10.0.0.1"], hiddenPaths: ["/c"] },
      },
    },
    "shell",
  );
  expect([readOnlyPaths, writablePaths, privateHosts, hiddenPaths]).toEqual([[], [], [], ["/c"]]);
  expect(reasons.filter((reason) => reason.outcome === "refused").map(({ value }) => value)).toEqual([
    ...["/a", "/b", "10.0.0.1"],
  ]);
});

test("the first layer that limits the network names its domains; later ones choose among them", () => {
  const administrator = { network: "listed", domains: ["*.example.com", "npmjs.org:443"] } as const;
  const merged = mergePolicies(
    {
      administrator,
      user: { domains: ["api.example.com", "evil.test", "npmjs.org", "npmjs.org:443", "*.a.example.com"] },
    },
    "shell",
  );
  expect(merged.domains).toEqual(["api.example.com", "npmjs.org:443", "*.a.example.com"]);
});

test("lists that forbid add up over the layers", () => {
  const merged = mergePolicies(
    {
      administrator: { deniedDomains: ["a"] },
      user: { deniedDomains: ["b"] },
      request: { deniedDomains: ["a"] },
    },
    "shell",
  );
  expect(merged.deniedDomains).toEqual(["a", "b"]);
});

test("an executor's own rules hold for it alone", () => {
  const user = { executors: { mcp: { network: "none" } } } as const;
  expect(mergePolicies({ user }, "mcp").network).toBe("none");
  expect(mergePolicies({ user }, "shell").network).toBe("open");
});

test.each([
  ["a list of nothing known", { netwrok: "none" }],
  ["a choice that isn't one", { network: "maybe" }],
  ["a relative path", { hiddenPaths: ["secrets"] }],
  ["a path with a NUL", { hiddenPaths: ["/a\0b"] }],
  ["a host with a space", { domains: ["a b"] }],
  ["an unknown executor", { executors: { robot: {} } }],
  ["no object", [1]],
  ["too many entries", { domains: Array.from({ length: 257 }, (_, at) => `d${at}`) }],
])("a policy with %s is refused whole", (_, value) => {
  expect(() => parsePolicyFile(value, "test")).toThrow(expect.objectContaining({ code: "config/invalid" }));
});

test("a policy that fits comes back as it is", () => {
  const value = {
    network: "listed",
    domains: ["*.a.test:443", "[::1]:80"],
    executors: { files: { workspace: "read" } },
  };
  expect(parsePolicyFile(value, "test")).toEqual(value);
});

test("the digest is of the rules and not of their order", () => {
  expect(hashPolicy({ a: ["x", "y"], b: 1 })).toBe(hashPolicy({ b: 1, a: ["y", "x"] }));
  expect(hashPolicy({ a: ["x"] })).not.toBe(hashPolicy({ a: ["y"] }));
});
