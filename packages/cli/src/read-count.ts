/** A whole number given as an option. */
import { CommandFailure } from "./command-failure.ts";

export function readCount(
  option: string,
  text: string | undefined,
  { least, most = Number.MAX_SAFE_INTEGER }: { readonly least: number; readonly most?: number },
): number | undefined {
  if (text === undefined) return undefined;
  const count = /^\d{1,16}$/u.test(text) ? Number(text) : Number.NaN;
  if (Number.isSafeInteger(count) && count >= least && count <= most) return count;
  const range = most === Number.MAX_SAFE_INTEGER ? `from ${least} on` : `from ${least} to ${most}`;
  throw new CommandFailure("usage", `--${option} is a whole number ${range}, not "${text}"`);
}
