/** Tells the key by which a person leaves a terminal from what is typed into it. Pure. */
import { CommandFailure } from "../command-failure.ts";

export interface DetachKey {
  /** the byte that the key sends; undefined: there is none */
  readonly byte: number | undefined;
  /** as a person would press it */
  readonly name: string;
}

const symbols = "@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_";

/** `ctrl-]`, `ctrl-a` and so on, or `none`. Throws with what is possible. */
export function parseDetachKey(text: string): DetachKey {
  if (text === "none") return { byte: undefined, name: "none" };
  const [, symbol = ""] = /^ctrl-(.)$/iu.exec(text) ?? [];
  const byte = symbol === "" ? -1 : symbols.indexOf(symbol.toUpperCase());
  if (byte < 0) {
    throw new CommandFailure("usage", `--detach-key is none or ctrl- and one key, not "${text}"`, {
      hint: "for instance --detach-key ctrl-a",
    });
  }
  return { byte, name: `Ctrl-${symbol.toUpperCase()}` };
}

export interface Typed {
  /** what belongs to the program */
  readonly bytes: Buffer;
  readonly leaves: boolean;
}

/** A key that comes in the middle of a larger piece is part of a paste, and belongs to the program. */
export function splitTyped(typed: Buffer, { byte }: DetachKey): Typed {
  const leaves = byte !== undefined && typed.length === 1 && typed[0] === byte;
  return { bytes: leaves ? Buffer.alloc(0) : typed, leaves };
}
