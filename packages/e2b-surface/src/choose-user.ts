/**
 * The account that a request names: by `Authorization: Basic` with a name and no password, or by `?username=`. There
 * is one account here, under its own name and under the one that clients know; any other is unknown.
 */
import { Code, ConnectError } from "@connectrpc/connect";
import type { SurfaceAccount } from "./surface-ports.ts";

const basicPattern = /^Basic +([A-Za-z0-9+/=_-]+) *$/iu;

/** Throws `unauthenticated` for an account that isn't here. */
export function checkUser(account: SurfaceAccount, name: string | undefined): void {
  if (name === undefined || name === "" || name === account.name || name === account.realName) return;
  throw new ConnectError(
    `there is no account ${JSON.stringify(name.slice(0, 64))} here: commands run as ${account.name}`,
    Code.Unauthenticated,
  );
}

/** Undefined when the header names nobody. A bearer isn't a name. */
export function userOfHeader(authorization: string | null | undefined): string | undefined {
  const encoded = basicPattern.exec(authorization ?? "")?.[1];
  if (encoded === undefined) return undefined;
  const text = Buffer.from(encoded, "base64").toString("utf8");
  const colon = text.indexOf(":");
  return colon === -1 ? text : text.slice(0, colon);
}
