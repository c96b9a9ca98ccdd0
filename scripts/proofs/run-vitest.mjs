/** Test files as a part of a proof: runs them in a child and turns their counts into figures and findings. */
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const root = join(import.meta.dirname, "../..");
const outputMaxBytes = 64 * 1024 * 1024;
const runMaxMs = 3 * 60 * 60 * 1000;

/**
 * A test that is skipped proves nothing, so it is a finding; so are fewer tests than `casesMin`.
 *
 * @param {{files: readonly string[], casesMin?: number, env?: Record<string, string>}} run
 * @returns {Promise<{figures: Record<string, unknown>, findings: string[]}>}
 */
export async function runVitest({ files, casesMin = 1, env = {} }) {
  const folder = mkdtempSync(join(tmpdir(), "sand-proof-"));
  try {
    const report = join(folder, "report.json");
    const args = ["run", ...files, "--reporter=json", `--outputFile=${report}`];
    const said = await runChild(args, { ...process.env, ...env });
    return judge(readReport(report, said), casesMin);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function runChild(args, env) {
  const vitest = join(root, "node_modules/vitest/vitest.mjs");
  return new Promise((resolve) => {
    // A failed test is told by the report, so the exit code says nothing more.
    const child = execFile(
      process.execPath,
      [vitest, ...args],
      { cwd: root, env, maxBuffer: outputMaxBytes, timeout: runMaxMs },
      (_error, stdout, stderr) => {
        process.off("exit", end);
        resolve(`${stdout}\n${stderr}`);
      },
    );
    // A proof that is stopped takes its tests along; they end what they have started.
    const end = () => child.kill("SIGTERM");
    process.once("exit", end);
  });
}

function readReport(path, said) {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch {
    throw new Error(`the tests left no report: ${said.slice(-2000)}`);
  }
}

function judge(report, casesMin) {
  const tests = report.testResults.flatMap((file) => file.assertionResults);
  const of = (status) => tests.filter((test) => test.status === status);
  const unproved = tests.filter(({ status }) => status !== "passed" && status !== "failed");
  const findings = [
    ...of("failed").map(
      ({ fullName, failureMessages }) => `${fullName}: ${failureMessages[0]?.slice(0, 600)}`,
    ),
    ...unproved.map(({ fullName, status }) => `${fullName} is ${status}`),
    ...report.testResults
      .filter(({ status, assertionResults }) => status === "failed" && assertionResults.length === 0)
      .map(({ name, message }) => `${name.slice(root.length + 1)} didn't run: ${message.slice(0, 600)}`),
  ];
  if (tests.length < casesMin) findings.push(`${tests.length} cases, and at least ${casesMin} are wanted`);
  const seconds = tests.reduce((sum, { duration }) => sum + (duration ?? 0), 0) / 1000;
  return {
    figures: {
      ...{ cases: tests.length, passed: of("passed").length, failed: of("failed").length },
      ...{ notRun: unproved.length, seconds: Math.round(seconds), files: report.testResults.length },
    },
    findings,
  };
}
