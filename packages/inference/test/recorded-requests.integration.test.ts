/**
 * The requests of fixed histories are the recorded ones, byte for byte.
 *
 * What a provider gets is made by a library of which each upgrade may change it; a change shows here and is looked at
 * before `node scripts/record-requests.mjs` accepts it.
 */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { beforeAll, expect, test } from "vitest";
import { adapters } from "./collect-parts.ts";
import { type MadeRequest, makeRequests } from "./record-requests.ts";
import { historyNames } from "./recorded-histories.ts";

let made: readonly MadeRequest[];
beforeAll(async () => {
  made = await makeRequests();
});

const names = adapters.flatMap(({ name }) => historyNames.map((history) => `${name} ${history}`));

test.each(names)("the request of %s is the recorded one", (name) => {
  const request = made.find((candidate) => candidate.name === name);
  const recorded = JSON.parse(readFileSync(request?.file ?? "", "utf8"));
  expect(request?.recording).toEqual(recorded);
  // The order of fields and the way of writing count as well: a prompt cache goes by the bytes.
  expect(request?.bodyDigest).toBe(createHash("sha256").update(JSON.stringify(recorded.body)).digest("hex"));
  expect(request?.violations).toEqual([]);
});
