/** Writes the recorded requests anew, after a change that was meant: `node scripts/record-requests.mjs`. */
import { writeFileSync } from "node:fs";
import { makeRequests, writeRecording } from "../test/record-requests.ts";

for (const { name, file, recording, violations } of await makeRequests()) {
  if (violations.length > 0) throw new Error(`${name} breaks a rule: ${violations.join("; ")}`);
  writeFileSync(file, writeRecording(recording));
}
