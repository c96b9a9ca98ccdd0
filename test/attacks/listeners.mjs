/** What stands for this machine, for metadata and for a private network. Each counts who comes and answers one word. */
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer } from "node:net";

const silenceMaxMs = 300;

export async function listen() {
  let hits = 0;
  const servers = [];
  const open = async (isCounted, options) => {
    const server = createServer((socket) => {
      if (isCounted) hits += 1;
      const answer = () => socket.end("HTTP/1.0 200 OK\r\ncontent-length: 8\r\n\r\nREACHED\n");
      // Whoever says nothing is answered as well.
      const timer = setTimeout(answer, silenceMaxMs);
      socket.on("error", () => undefined);
      socket.once("data", answer);
      socket.once("close", () => clearTimeout(timer));
    });
    servers.push(server);
    server.listen(options);
    await once(server, "listening");
    return server;
  };
  const loopback = await open(true, { host: "::", port: 0 });
  await open(true, { host: "169.254.169.254", port: 80 });
  await open(true, { host: "10.99.0.1", port: 80 });
  // The one that the policy names.
  await open(false, { host: "10.99.0.2", port: 80 });
  await open(true, { path: "\0sand-attack-abstract" });
  const datagrams = createSocket("udp4");
  datagrams.on("message", () => {
    hits += 1;
  });
  datagrams.bind(53, "10.99.0.1");
  await once(datagrams, "listening");
  return {
    loopbackPort: loopback.address().port,
    hits: () => hits,
    close() {
      for (const server of servers) server.close();
      datagrams.close();
    },
  };
}
