/**
 * The arrows between packages, as a check.
 *
 * `mayImport` is the table of the architecture: a package that isn't listed in a row is out of its
 * reach. Doors are read from each package's `exports`, so that a new door is declared in one place.
 * Tests may also import the testkit, which may import anything.
 */
const { readdirSync, readFileSync } = require("node:fs");
const { join } = require("node:path");

const mayImport = {
  protocol: [],
  "agent-core": ["protocol"],
  "node-kit": ["protocol"],
  store: ["protocol", "agent-core", "node-kit"],
  inference: ["protocol", "agent-core", "node-kit"],
  "sandbox-policy": ["protocol", "node-kit"],
  host: ["protocol", "agent-core", "node-kit", "store", "inference", "sandbox-policy"],
  "exec-daemon": ["protocol", "node-kit", "sandbox-policy", "e2b-surface", "desktop"],
  "e2b-surface": ["protocol", "node-kit"],
  supervisor: ["protocol", "node-kit", "desktop"],
  desktop: ["protocol", "node-kit"],
  "docker-engine": ["protocol", "node-kit"],
  "docker-connector": ["protocol", "node-kit", "docker-engine"],
  "code-sandbox": ["protocol", "node-kit", "docker-engine"],
  "inference-broker": ["protocol", "node-kit", "inference"],
  client: ["protocol"],
  cli: [
    "client",
    "protocol",
    "node-kit",
    "store",
    "docker-engine",
    "docker-connector",
    "code-sandbox",
    "inference-broker",
    "console",
  ],
  console: ["client"],
};

const tests = "(^|/)(test|fixtures)/|\\.test\\.(ts|mjs)$";

function arrowRules() {
  return Object.entries(mayImport).map(([name, allowed]) => ({
    name: `arrows-of-${name}`,
    severity: "error",
    comment: `${name} may import ${allowed.join(", ") || "no other package"}`,
    from: { path: `^packages/${name}/`, pathNot: tests },
    to: { path: "^packages/", pathNot: `^packages/(${[name, ...allowed].join("|")})/` },
  }));
}

function doors() {
  const found = [];
  for (const name of readdirSync(join(__dirname, "packages"))) {
    const manifest = JSON.parse(readFileSync(join(__dirname, "packages", name, "package.json"), "utf8"));
    for (const target of Object.values(manifest.exports ?? {})) {
      found.push(`^packages/${name}/${String(target).replace(/^\.\//, "").replaceAll(".", "\\.")}$`);
    }
  }
  return found;
}

const known = Object.keys(mayImport).concat("testkit").join("|");

module.exports = {
  forbidden: [
    {
      name: "no-cycles",
      severity: "error",
      comment: "two files that need each other are one concept, or a missing third",
      from: {},
      to: { circular: true },
    },
    {
      name: "package-without-a-row",
      severity: "error",
      comment: "a new package gets a row in the table of .dependency-cruiser.cjs first",
      from: { path: "^packages/", pathNot: `^packages/(${known})/` },
      to: {},
    },
    ...arrowRules(),
    {
      name: "only-by-the-door",
      severity: "error",
      comment: "a package is used through the files that its exports name",
      from: { path: "^packages/([^/]+)/" },
      to: { path: "^packages/", pathNot: ["^packages/$1/", ...doors()] },
    },
    {
      name: "testkit-in-tests-only",
      severity: "error",
      comment: "what ships must not lean on fakes",
      from: { path: "^packages/", pathNot: [tests, "^packages/testkit/"] },
      to: { path: "^packages/testkit/" },
    },
    {
      name: "core-is-pure",
      severity: "error",
      comment: "protocol and client run in a browser, and agent-core decides without reaching outside",
      from: { path: "^packages/(protocol|agent-core|client)/src/", pathNot: tests },
      to: { dependencyTypes: ["core"] },
    },
    {
      name: "protocol-door-without-protobuf",
      severity: "error",
      comment: "a browser that imports the main door must not load protobuf",
      from: { path: "^packages/protocol/src/index\\.ts$" },
      to: { path: "@bufbuild", reachable: true },
    },
    {
      name: "nobody-imports-the-gateway",
      severity: "error",
      comment: "the gateway calls the others, by ports that it states and they implement; the start wires it",
      from: {
        path: "^packages/host/src/",
        pathNot: ["^packages/host/src/(gateway/|start-host\\.ts$)", tests],
      },
      to: { path: "^packages/host/src/gateway/", pathNot: "/gateway/host-ports\\.ts$" },
    },
    {
      name: "nothing-imports-a-main",
      severity: "error",
      comment: "an entry point starts a process when it is loaded",
      from: { path: "^packages/" },
      to: { path: "/src/main\\.ts$" },
    },
    {
      name: "unresolvable",
      severity: "error",
      comment: "an import that nothing provides fails at run time only",
      from: { path: "^packages/" },
      to: { couldNotResolve: true },
    },
    {
      name: "undeclared-dependency",
      severity: "error",
      comment: "a package names what it uses in its own manifest",
      from: { path: "^packages/" },
      to: { dependencyTypes: ["npm-no-pkg", "npm-unknown"] },
    },
  ],
  options: {
    doNotFollow: { path: "node_modules|/src/gen/" },
    exclude: { path: "(^|/)(dist|\\.tmp)/" },
    tsPreCompilationDeps: true,
    combinedDependencies: false,
    enhancedResolveOptions: {
      exportsFields: ["exports"],
      conditionNames: ["import", "node", "default", "types"],
      extensions: [".ts", ".mjs", ".js", ".cjs", ".json"],
    },
  },
};
