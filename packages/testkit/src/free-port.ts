/**
 * A port that was free a moment ago, for the few cases where port 0 won't do: a process that is killed and started
 * again must be found at the same place. Between the look and its use another process may take it; callers retry.
 */
import { createServer } from "node:net";

export function findFreePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      const port = address !== null && typeof address === "object" ? address.port : 0;
      server.close(() => resolve(port));
    });
  });
}
