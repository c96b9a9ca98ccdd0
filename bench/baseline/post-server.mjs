/** A bare server: reads a body, answers a small JSON object. Imports nothing of ours. */
import { createServer } from "node:http";

const answer = Buffer.from('{"accepted":true}');
const server = createServer((request, response) => {
  request.resume();
  request.once("end", () => {
    response.writeHead(200, { "content-type": "application/json", "content-length": answer.length });
    response.end(answer);
  });
});
server.listen(0, "127.0.0.1", () => {
  process.stdout.write(`${JSON.stringify({ port: server.address().port })}\n`);
});
