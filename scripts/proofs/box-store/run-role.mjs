/** Runs the process of the box store once, from the shipped bundle, as the host and `sand` do; kills it when told to. */
import { spawn } from "node:child_process";
import { once } from "node:events";

/** @returns {Promise<{killed: boolean, answer: any}>} */
export async function runRole(program, call, { killAfterMs } = {}) {
  const child = spawn(process.execPath, [program, "box-store"], {
    env: { PATH: process.env.PATH },
    stdio: ["pipe", "pipe", "inherit"],
  });
  child.stdin.on("error", () => undefined);
  child.stdin.write(`${JSON.stringify(call)}\n`);
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (part) => {
    text += part;
  });
  const timer = killAfterMs === undefined ? undefined : setTimeout(() => child.kill("SIGKILL"), killAfterMs);
  const [, signal] = await once(child, "close");
  clearTimeout(timer);
  const lines = text.split("\n").filter((line) => line !== "" && !line.includes('"progress"'));
  return { killed: signal === "SIGKILL", answer: lines.length === 0 ? undefined : JSON.parse(lines.at(-1)) };
}
