/** What the user says in the world of the attacks: names that lead to closed places are listed, so that only the addresses decide. */

export function policyOf(home: string): object {
  const addresses = ["127.0.0.1", "127.1.2.3", "0.0.0.0", "[::1]", "169.254.169.254", "10.99.0.1"];
  return {
    writablePaths: [home],
    keptPaths: ["./kept"],
    network: "listed",
    domains: [
      "localhost",
      "allowed.test",
      "10.99.0.2",
      "[::ffff:7f00:1]",
      "[::ffff:a9fe:a9fe]",
      ...addresses,
    ],
    privateHosts: ["10.99.0.2"],
  };
}
