/** Named limits of a turn. Budgets that the user sets come on top of these; none of these can be raised by a model. */
export const turnLimits = {
  /** model steps in one turn; a turn that needs more is settled with an error that says so */
  stepsMax: 400,
  /** failed model calls of one step before the turn is settled with the last failure */
  modelFailuresMax: 5,
  /** first wait after a failed model call, in `ms`; doubles with each failure */
  retryBaseMs: 500,
  /** longest wait between two model calls, in `ms`, also when the provider wishes for more */
  retryMaxMs: 60_000,
  /** starts of the host that may take up one turn without any progress in between */
  resumesWithoutProgressMax: 25,
  /** times in a row that the box may be found absent before the turn is settled */
  boxAbsencesMax: 2,
  /** the same while a call is under way, whose outcome only the box knows */
  boxAbsencesWithCallsMax: 10,
  /** steps in a row that ask for the very same calls, none of which could be run, before the turn is ended */
  sameRefusalsMax: 3,
  /** steps in a row of which no call could be run, whatever they asked for */
  refusedStepsMax: 10,
  /** tool calls that one model step may ask for; further ones are answered with an error */
  callsPerStepMax: 64,
} as const;
