/**
 * Bytes of zero over plain HTTP from one Node process to another, without a file, a command or a message: as fast as
 * anything that goes this way can be. Prints the megabytes of each second.
 */
import { spawn } from "node:child_process";
import { createServer, get } from "node:http";
import { fileURLToPath } from "node:url";

const self = fileURLToPath(import.meta.url);
const [bytes, isServer] = process.argv.slice(2);
const piece = Buffer.alloc(64 * 1024);

async function send(response) {
  for (let left = Number(bytes); left > 0; left -= piece.length) {
    if (!response.write(piece)) await new Promise((resolve) => response.once("drain", resolve));
  }
  response.end();
}

async function receive(port) {
  const startedMs = performance.now();
  let count = 0;
  await new Promise((resolve, reject) => {
    get({ host: "127.0.0.1", port, agent: false }, (response) => {
      response.on("data", (data) => {
        count += data.length;
      });
      response.once("end", resolve);
    }).once("error", reject);
  });
  return count / 1e3 / (performance.now() - startedMs);
}

if (isServer === "serve") {
  const server = createServer((_request, response) => void send(response));
  server.listen(0, "127.0.0.1", () => process.stdout.write(`${server.address().port}\n`));
} else {
  const child = spawn(process.execPath, [self, bytes, "serve"], { stdio: ["ignore", "pipe", "inherit"] });
  const port = await new Promise((resolve) => child.stdout.once("data", (text) => resolve(Number(text))));
  const rate = await receive(port);
  child.kill("SIGKILL");
  process.stdout.write(`${JSON.stringify(rate)}\n`);
}
