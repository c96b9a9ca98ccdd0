/** The real outputs, built twice at the same moment from the same source, are the same bytes. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { bundle } from "./bundle.mjs";
import { outputs, repositoryRoot } from "./outputs.mjs";

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "sand-twice-"));
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

for (const name of ["host", "daemon", "cli"]) {
  test(`the ${name}'s bundle is the same bytes when it is built again`, async () => {
    const build = (copy) =>
      bundle({ root: repositoryRoot, ...outputs[name], outfile: join(folder, copy, `${name}.cjs`) });
    await Promise.all([build("first"), build("second")]);
    for (const file of [`${name}.cjs`, `${name}.cjs.licences.txt`]) {
      const [first, second] = ["first", "second"].map((copy) => readFileSync(join(folder, copy, file)));
      expect(first.equals(second)).toBe(true);
    }
  });
}
