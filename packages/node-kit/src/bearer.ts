/** Compares a bearer without telling, by the time it takes, how much of a guess was right. */
import { hash, timingSafeEqual } from "node:crypto";

const bearerPattern = /^Bearer +(\S+) *$/iu;

/** True when the header carries exactly `token`. An empty token matches nothing, so a missing setting can't open a door. */
export function bearerMatches(authorizationHeader: string | undefined, token: string): boolean {
  const sent = bearerPattern.exec(authorizationHeader ?? "")?.[1];
  // Digests have one length, and a comparison runs even when there is nothing to compare.
  const equal = timingSafeEqual(digest(sent ?? ""), digest(token));
  return equal && sent !== undefined;
}

function digest(text: string): Buffer {
  return hash("sha256", text, "buffer");
}
