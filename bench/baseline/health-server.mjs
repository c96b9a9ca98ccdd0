/** The least that a Node program does until it answers a health request. */
import { createServer } from "node:http";

const server = createServer((_request, response) => response.end('{"ok":true}'));
server.listen(0, "127.0.0.1", () => {
  process.stdout.write(`${JSON.stringify({ port: server.address().port })}\n`);
});
