/** Runs work on one path at a time, in the order of asking. */
import type { createKeyedMutex } from "@sand/node-kit";

export type OneByOne = ReturnType<typeof createKeyedMutex>;
