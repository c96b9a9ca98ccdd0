/**
 * What the exit status of `sand` means. Scripts rely on these numbers, so a number never changes its meaning; the
 * README and `sand --help` print this table.
 */
export const exitCodes = {
  ok: 0,
  failed: 1,
  usage: 2,
  notRunning: 3,
  unauthorized: 4,
  conflict: 5,
  notFound: 6,
  serverError: 7,
  interrupted: 130,
} as const;

export type ExitName = keyof typeof exitCodes;

export const exitMeanings: Readonly<Record<ExitName, string>> = {
  ok: "done",
  failed: "it ran, but didn't come out well: a turn ended with an error, a check failed, a wait ran out",
  usage: "wrong arguments, or the gateway found the request malformed",
  notRunning: "no host runs, or none answers",
  unauthorized: "the gateway refused the token or the request",
  conflict: "it contradicts what is already there, e.g. another prompt under the same nonce",
  notFound: "no such agent, or no such command on this host",
  serverError: "the host failed",
  interrupted: "ended by Ctrl-C",
};

/** How an HTTP status of the gateway ends the program. */
export function exitNameOfStatus(status: number): ExitName {
  if (status === 401 || status === 403) return "unauthorized";
  if (status === 404) return "notFound";
  if (status === 409) return "conflict";
  if (status >= 500) return "serverError";
  if (status === 400 || status === 413) return "usage";
  return "failed";
}
