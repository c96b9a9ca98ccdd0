/**
 * Some ports (1, 22, 6000, 6667 and others) are those of old protocols, and browsers and `fetch` never connect to them.
 * A host there would run, and nobody could reach it.
 */
import { CommandFailure } from "../command-failure.ts";

const askMaxMs = 2_000;

/** `fetch` itself is asked, which knows the list: it refuses such a port before it connects. */
export async function refuseBlockedPort(port: number): Promise<void> {
  const error: unknown = await fetch(`http://127.0.0.1:${port}/`, {
    signal: AbortSignal.timeout(askMaxMs),
  }).then(
    (response) => response.body?.cancel(),
    (thrown: unknown) => thrown,
  );
  const cause = error instanceof Error ? error.cause : undefined;
  if (!(cause instanceof Error) || cause.message !== "bad port") return;
  throw new CommandFailure("usage", `port ${port} can't be used: clients refuse to connect there`, {
    hint: "choose another one, or 0 for any free one",
  });
}
