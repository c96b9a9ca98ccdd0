/** The policy with the variables that were set since the start, for whatever is started next. */
import type { BoxPolicy } from "../box-policy.ts";
import type { BoxEnvironment } from "./box-environment.ts";

export function withEnvironment(policy: BoxPolicy, environment: BoxEnvironment): BoxPolicy {
  return {
    ...policy,
    get commandEnv() {
      return { ...policy.commandEnv, ...environment.variables() };
    },
  };
}
