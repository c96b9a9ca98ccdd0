/**
 * The steps of continuous integration, counted: `N passed, N failed` is the last line.
 *
 * It is started by whatever Node the machine has, before anything is installed, so it uses nothing
 * but Node. A step that fails doesn't stop the next one: one run tells everything that is wrong.
 */
import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const scratch = join(root, ".tmp", "ci");
const testReport = join(scratch, "tests.json");
const minute = 60_000;

/** the limits add up to less than the 45 minutes that a run may take */
const steps = [
  { name: "prepare", command: ["node", "scripts/bootstrap.mjs", "install"], maxMs: 5 * minute, needed: true },
  { name: "tests", command: ["npm", "test"], maxMs: 28 * minute, report: testReport },
  { name: "check", command: ["node", "scripts/bootstrap.mjs", "check"], maxMs: 5 * minute },
  {
    name: "kill sweep, 40 runs",
    command: ["node", "scripts/bootstrap.mjs", "kill-sweep", "--runs", "40"],
    maxMs: 6 * minute,
  },
];

/** The whole group is ended at the limit: a test's host must not outlive the run that started it. */
function run(step) {
  return new Promise((resolve) => {
    const [program, ...args] = step.command;
    const env = { ...process.env, SAND_TEST_REPORT: step.report ?? "", CI: "1", NO_COLOR: "1" };
    const child = spawn(program, args, {
      cwd: root,
      env,
      stdio: ["ignore", "inherit", "inherit"],
      detached: true,
    });
    const endGroup = () => {
      try {
        process.kill(-child.pid, "SIGKILL");
      } catch {
        // The group has ended by itself.
      }
    };
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      endGroup();
    }, step.maxMs);
    const stop = () => {
      endGroup();
      process.exit(1);
    };
    process.once("SIGTERM", stop).once("SIGINT", stop);
    const settle = (ok) => {
      clearTimeout(timer);
      process.removeListener("SIGTERM", stop).removeListener("SIGINT", stop);
      if (late) console.log(`ci: ${step.name} took longer than ${step.maxMs / minute} minutes`);
      resolve(ok);
    };
    child.on("error", () => settle(false));
    child.on("close", (code) => settle(code === 0));
  });
}

/** Counts single tests where there is a report; a suite that could not even be loaded is a failure too. */
function count(step, ok) {
  try {
    if (step.report) {
      const report = JSON.parse(readFileSync(step.report, "utf8"));
      const failed = report.numFailedTests + (ok || report.numFailedTests > 0 ? 0 : 1);
      return { passed: report.numPassedTests, failed };
    }
  } catch {
    return { passed: 0, failed: 1 };
  }
  return { passed: ok ? 1 : 0, failed: ok ? 0 : 1 };
}

async function main() {
  rmSync(scratch, { recursive: true, force: true });
  mkdirSync(scratch, { recursive: true });
  const total = { passed: 0, failed: 0 };
  for (const step of steps) {
    console.log(`ci: ${step.name}`);
    const startedAt = Date.now();
    const ok = await run(step);
    const counted = count(step, ok);
    total.passed += counted.passed;
    total.failed += counted.failed;
    const seconds = Math.round((Date.now() - startedAt) / 1000);
    console.log(`ci: ${step.name}: ${counted.passed} passed, ${counted.failed} failed, ${seconds} s`);
    if (!ok && step.needed) break;
  }
  console.log(`${total.passed} passed, ${total.failed} failed`);
  process.exitCode = total.failed === 0 ? 0 : 1;
}

await main();
