/** Writing a database's files again must change nothing that they say. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { rewriteFiles } from "../src/rewrite-files.ts";

test("a file that is written again has the bytes that it had, and one that isn't there isn't made", () => {
  const folder = mkdtempSync(join(tmpdir(), "sand-rewrite-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "store.db");
  const bytes = Buffer.from(Array.from({ length: 2_500_000 }, (_, at) => (at * 31) % 251));
  writeFileSync(path, bytes);
  writeFileSync(`${path}-wal`, "log");
  rewriteFiles(path);
  expect(readFileSync(path).equals(bytes)).toBe(true);
  expect(readFileSync(`${path}-wal`, "utf8")).toBe("log");
  expect(existsSync(`${path}-journal`)).toBe(false);
});
