/**
 * One project for each kind of test, so that a kind can be run alone and has limits that suit it.
 *
 * Unit tests do no I/O and get a short limit: a slow one is a finding. Everything that starts
 * processes or opens sockets runs in forked workers, two at most, because a test that loses a race
 * for the processor fails for no reason of its own.
 */
import { defineConfig } from "vitest/config";

/** where continuous integration wants the counts; nowhere when a person runs the tests */
const report = process.env.SAND_TEST_REPORT;

const ignored = ["**/node_modules/**", "**/dist/**"];

function project(name: string, include: string[], timeoutMs: number) {
  return {
    extends: true as const,
    test: { name, include, exclude: ignored, testTimeout: timeoutMs, hookTimeout: timeoutMs },
  };
}

export default defineConfig({
  test: {
    globalSetup: ["scripts/shim/compile-before-tests.mjs", "scripts/checks/leak-guard.mjs"],
    pool: "forks",
    maxWorkers: 2,
    passWithNoTests: true,
    allowOnly: false,
    reporters: report ? ["default", ["json", { outputFile: report }]] : ["default"],
    projects: [
      project("unit", ["packages/*/src/**/*.test.ts"], 5_000),
      project("contract", ["packages/*/test/**/*.contract.test.ts"], 30_000),
      project("integration", ["packages/*/test/**/*.integration.test.ts"], 30_000),
      project("crash", ["packages/*/test/**/*.crash.test.ts", "test/**/*.crash.test.ts"], 120_000),
      project("bundle", ["packages/*/test/**/*.bundle.test.ts", "test/**/*.bundle.test.ts"], 120_000),
      project("checks", ["scripts/**/*.test.mjs"], 120_000),
      {
        extends: true as const,
        test: {
          name: "system",
          include: ["test/**/*.test.ts"],
          exclude: [...ignored, "test/**/*.{bundle,crash}.test.ts"],
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
});
