/**
 * The account that clients of the E2B surface see. Its home is where relative paths begin and what `~` is, so it has
 * to be a folder that commands may write: where a sandbox encloses them that is the workspace and not the account's own.
 */
import { readFileSync } from "node:fs";
import type { SurfaceAccount } from "@sand/e2b-surface";
import type { BoxPolicy } from "../box-policy.ts";
import { type CommandUser, parsePasswd } from "../command-user.ts";

export interface AccountChoice {
  /** the name that clients know, `user` in E2B's own images */
  readonly name: string;
  /** empty: it is chosen */
  readonly home: string;
  readonly isEnclosed: boolean;
  readonly workspaceRoot: string;
  readonly commandEnv: Readonly<Record<string, string>>;
  /** whom commands run as, when that isn't ourselves */
  readonly commandUser: CommandUser | undefined;
  readonly ownUid: number;
  readonly accounts: readonly CommandUser[];
}

export function chooseAccount(choice: AccountChoice): SurfaceAccount {
  const uid = choice.commandUser?.uid ?? choice.ownUid;
  const realName = choice.commandUser?.name ?? choice.commandEnv.USER ?? choice.name;
  return { name: choice.name, realName, home: chooseHome(choice, uid) };
}

function chooseHome(choice: AccountChoice, uid: number): string {
  if (choice.home !== "") return choice.home;
  if (choice.isEnclosed) return choice.workspaceRoot;
  // A second name of the same account may have a home of its own, as `user` has in the image.
  const second = choice.accounts.find((account) => account.name === choice.name && account.uid === uid);
  return second?.home ?? choice.commandUser?.home ?? choice.commandEnv.HOME ?? choice.workspaceRoot;
}

export function readAccount(
  policy: BoxPolicy,
  settings: { readonly name: string; readonly home: string },
): SurfaceAccount {
  return chooseAccount({
    ...settings,
    isEnclosed: policy.decision.kind === "enclose",
    workspaceRoot: policy.workspaceRoot,
    commandEnv: policy.commandEnv,
    commandUser: policy.user,
    ownUid: process.getuid?.() ?? -1,
    accounts: parsePasswd(readPasswd()),
  });
}

function readPasswd(): string {
  try {
    return readFileSync("/etc/passwd", "utf8");
  } catch {
    // A machine without the file has no second names.
    return "";
  }
}
