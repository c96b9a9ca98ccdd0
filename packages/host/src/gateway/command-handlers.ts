/** The typed map from a built command to its function. A command in the table without a handler doesn't compile. */
import type { BuiltCommandName, CommandRequest, CommandResponse } from "@sand/protocol";

export interface CommandContext {
  /** ties the answer, the log and what follows together */
  readonly requestId: string;
  /** the client wants summaries without pictures */
  readonly slimAvatars: boolean;
}

export type CommandHandlers = {
  readonly [Name in BuiltCommandName]: (
    request: CommandRequest<Name>,
    context: CommandContext,
  ) => Promise<CommandResponse<Name>>;
};
