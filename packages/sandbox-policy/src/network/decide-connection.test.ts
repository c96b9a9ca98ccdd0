import { expect, test } from "vitest";
import { classifyAddress } from "./classify-address.ts";
import { decideAddress, decideHost, type NetworkRules } from "./decide-connection.ts";

const rules: NetworkRules = {
  domains: ["example.com", "*.example.org", "only.test:443"],
  deniedDomains: ["bad.example.org"],
  privateHosts: ["10.1.0.0/16", "db.example.com", "192.168.7.7"],
};

test.each([
  ["example.com", 80, true],
  ["EXAMPLE.com.", 80, true],
  ["www.example.com", 80, false],
  ["a.b.example.org", 80, true],
  ["example.org", 80, false],
  ["bad.example.org", 80, false],
  ["notexample.org", 80, false],
  ["only.test", 443, true],
  ["only.test", 80, false],
  ["93.184.216.34", 80, false],
] as const)("%s:%i is allowed by name: %s", (host, port, allowed) => {
  expect(decideHost(rules, host, port).allowed).toBe(allowed);
});

test.each([
  ["93.184.216.34", "public"],
  ["127.0.0.1", "loopback"],
  ["127.8.9.1", "loopback"],
  ["0.0.0.0", "loopback"],
  ["169.254.169.254", "link-local"],
  ["100.100.100.200", "link-local"],
  ["10.0.0.1", "private"],
  ["172.31.255.255", "private"],
  ["172.32.0.1", "public"],
  ["192.168.1.1", "private"],
  ["100.64.0.1", "private"],
  ["224.0.0.1", "reserved"],
  ["::1", "loopback"],
  ["::", "loopback"],
  ["::ffff:127.0.0.1", "loopback"],
  ["::ffff:a9fe:a9fe", "link-local"],
  ["0:0:0:0:0:ffff:0a00:0001", "private"],
  ["64:ff9b::a9fe:a9fe", "link-local"],
  ["2002:a9fe:a9fe::1", "link-local"],
  ["::127.0.0.1", "loopback"],
  ["fe80::1%eth0", "link-local"],
  ["fd00:ec2::254", "link-local"],
  ["fd12::1", "private"],
  ["2606:4700::1111", "public"],
  ["2001:db8::1", "reserved"],
] as const)("%s is %s", (address, kind) => {
  expect(classifyAddress(address)).toBe(kind);
});

test.each([
  ["example.com", "93.184.216.34", true],
  ["example.com", "127.0.0.1", false],
  ["example.com", "::ffff:169.254.169.254", false],
  ["example.com", "10.1.2.3", true],
  ["example.com", "10.2.2.3", false],
  ["db.example.com", "172.16.0.1", true],
  ["192.168.7.7", "192.168.7.7", true],
  ["example.com", "no address", false],
] as const)("%s at %s may be dialled: %s", (host, address, allowed) => {
  expect(decideAddress(rules, host, 80, address).allowed).toBe(allowed);
});
