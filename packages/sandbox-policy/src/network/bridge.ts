/**
 * How a command without a network of its own reaches the proxy: a small Node program beside it, in the same sandbox,
 * hands what comes to a loopback port on to the proxy's socket. It decides nothing, so it doesn't matter that the
 * command could end or replace it.
 *
 * The command starts when the port is open. The bridge ends with the namespace. What it says the port with is closed
 * behind it, and the number taken again at once: Node aborts when a connection gets it.
 */
import { egressFolder } from "../plan-sandbox.ts";

const socketName = "proxy.sock";
const connectionsMax = 256;

/** the proxy listens under this name in its folder */
export const egressSocketName = socketName;

const program = `
const net = require("node:net");
const fs = require("node:fs");
for (const name of ["SIGINT", "SIGHUP", "SIGTERM", "SIGQUIT"]) process.on(name, () => undefined);
const server = net.createServer({ allowHalfOpen: true }, (inside) => {
  const outside = net.connect({ path: "${egressFolder}/${socketName}", allowHalfOpen: true });
  const end = () => { inside.destroy(); outside.destroy(); };
  for (const side of [inside, outside]) side.on("error", end);
  inside.pipe(outside);
  outside.pipe(inside);
});
server.maxConnections = ${connectionsMax};
server.listen(0, "127.0.0.1", () => {
  fs.writeSync(1, String(server.address().port));
  fs.closeSync(1);
  fs.openSync("/dev/null", "r+");
});
`;

const shell = `
node=$1 program=$2; shift 2
port=$("$node" -e "$program" </dev/null 2>/dev/null &)
[ -n "$port" ] || { echo "sand: the way to the network did not come up" >&2; exit 125; }
url=http://127.0.0.1:$port
export http_proxy=$url https_proxy=$url all_proxy=$url HTTP_PROXY=$url HTTPS_PROXY=$url ALL_PROXY=$url
export no_proxy= NO_PROXY= NODE_USE_ENV_PROXY=1
unset port url node program
exec "$@"
`;

/** The same command with a way to the proxy, named in the variables that programs look at. */
export function throughBridge(argv: readonly string[], node: string): readonly string[] {
  return ["/bin/sh", "-c", shell, "sh", node, program, ...argv];
}
