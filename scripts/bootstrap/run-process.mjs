/** Runs a child without a shell and without input; its output is kept for the error, or shown. */
import { spawn } from "node:child_process";

/**
 * @param {string} program @param {string[]} args
 * @param {{cwd: string, env: Record<string, string>, show: boolean}} options
 * @returns {Promise<{code: number, output: string}>}
 */
export function runProcess(program, args, options) {
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      cwd: options.cwd,
      env: options.env,
      stdio: options.show ? "inherit" : ["ignore", "pipe", "pipe"],
    });
    let output = "";
    const keep = (chunk) => {
      output = (output + chunk).slice(-keptMax);
    };
    if (!options.show) {
      child.stdout.setEncoding("utf8").on("data", keep);
      child.stderr.setEncoding("utf8").on("data", keep);
    }
    const forward = (signal) => child.kill(signal);
    for (const signal of passedOn) process.on(signal, forward);
    const settle = (code) => {
      for (const signal of passedOn) process.removeListener(signal, forward);
      resolve({ code, output });
    };
    child.on("error", (error) => {
      output += error.message;
      settle(127);
    });
    child.on("close", (code, signal) => settle(code === null ? 128 + (signalNumbers[signal] || 0) : code));
  });
}

/** how much of a quiet child's output is kept, in characters: the end is where the reason stands */
const keptMax = 16_384;
const passedOn = ["SIGINT", "SIGTERM", "SIGHUP"];
const signalNumbers = { SIGHUP: 1, SIGINT: 2, SIGKILL: 9, SIGTERM: 15 };

/** @param {string} output @returns {string} the last lines, indented */
export function tailOf(output) {
  return output
    .trim()
    .split("\n")
    .slice(-12)
    .map((line) => `    ${line}`)
    .join("\n");
}
