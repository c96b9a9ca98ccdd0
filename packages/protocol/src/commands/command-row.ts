/**
 * The shape of one row of the command table. A built command has the schemas of its request and response; a planned
 * one has only its name, and the gateway answers it with `gateway/not-implemented`.
 */
import type { TSchema } from "typebox";

export interface BuiltCommand<Request extends TSchema = TSchema, Response extends TSchema = TSchema> {
  readonly status: "built";
  readonly request: Request;
  readonly response: Response;
}

export interface PlannedCommand {
  readonly status: "planned";
}

export type CommandRow = BuiltCommand | PlannedCommand;

export function built<Request extends TSchema, Response extends TSchema>(
  request: Request,
  response: Response,
): BuiltCommand<Request, Response> {
  return { status: "built", request, response };
}
