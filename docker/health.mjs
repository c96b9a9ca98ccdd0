/** Asks the gateway for its health, as Docker's health check does: status 0 when it answers. */
const port = process.env.SAND_HOST_PORT || "1340";
const scheme = process.env.SAND_GATEWAY_TLS_CERT ? "https" : "http";
// The certificate is for other names than this one; nothing secret is sent.
if (scheme === "https") process.env.NODE_TLS_REJECT_UNAUTHORIZED = "0";

try {
  const answer = await fetch(`${scheme}://127.0.0.1:${port}/health`, { signal: AbortSignal.timeout(2000) });
  process.exitCode = answer.ok ? 0 : 1;
} catch {
  process.exitCode = 1;
}
