/** A random credential in a file that only its owner reads, made once and then kept. */
import { randomBytes } from "node:crypto";
import { lstatSync, mkdirSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import { writeFileAtomicSync } from "@sand/node-kit";
import { CommandFailure } from "../command-failure.ts";

const tokenBytes = 32;
const tokenShape = /^[\w-]{20,200}$/u;

export function keepToken(path: string): string {
  return readToken(path) ?? mintToken(path);
}

export function mintToken(path: string): string {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const token = randomBytes(tokenBytes).toString("base64url");
  writeFileAtomicSync(path, `${token}\n`, { mode: 0o600 });
  return token;
}

export function readToken(path: string): string | undefined {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return undefined;
  // A link, or a file that others can read, may have been put there by somebody else.
  if (!stat.isFile() || (stat.mode & 0o077) !== 0) {
    throw new CommandFailure("failed", `${path} must be a plain file that only you can read`, {
      hint: `look at it, then remove it: rm ${path}`,
    });
  }
  const token = readFileSync(path, "utf8").trim();
  return tokenShape.test(token) ? token : undefined;
}
