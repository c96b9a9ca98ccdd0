/** The digest under which a policy is recorded with each run: the same rules give the same one, in whatever order they were said. */
import { createHash } from "node:crypto";

export function hashPolicy(policy: object): string {
  return createHash("sha256")
    .update(JSON.stringify(sorted(policy)))
    .digest("hex");
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) {
    const items = value.map(sorted);
    // Lists of names are sets; lists of anything else keep their order.
    return items.every((item) => typeof item === "string") ? [...items].sort() : items;
  }
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).filter(([, item]) => item !== undefined);
  return Object.fromEntries(
    entries.sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, item]) => [key, sorted(item)]),
  );
}
