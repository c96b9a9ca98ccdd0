/** Commands about the host itself. */
import Type from "typebox";
import { built } from "./command-row.ts";
import { emptyRequest } from "./wire-shapes.ts";

export const hostCommands = {
  getHostStatus: built(
    emptyRequest,
    Type.Object({
      hostVersion: Type.Union([Type.String(), Type.Null()]),
      latestHostVersion: Type.Union([Type.String(), Type.Null()]),
      hostUpdateAvailable: Type.Union([Type.Boolean(), Type.Null()]),
      isBusy: Type.Boolean(),
      capabilities: Type.Array(Type.String()),
    }),
  ),
} as const;
