/** A bare broadcaster of server-sent events: each POST's body becomes one frame to every stream. */
import { createServer } from "node:http";

const streams = new Set();
const server = createServer((request, response) => {
  if (request.method === "GET") {
    response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
    response.write(":\n\n");
    streams.add(response);
    response.once("close", () => streams.delete(response));
    return;
  }
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.once("end", () => {
    const frame = Buffer.from(`data: ${Buffer.concat(chunks).toString("utf8")}\n\n`);
    for (const stream of streams) stream.write(frame);
    response.writeHead(200, { "content-type": "application/json" });
    response.end('{"accepted":true}');
  });
});
server.listen(0, "127.0.0.1", () => {
  process.stdout.write(`${JSON.stringify({ port: server.address().port })}\n`);
});
