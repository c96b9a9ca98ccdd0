/** What is sent in place of nothing: providers refuse an empty message or an empty result, and with it the request. */
export const noOutput = "(no output)";
export const noText = "(empty message)";
/** before a history that begins with the model's words, where a provider wants the user's first */
export const earlierLeftOut = "(earlier messages are left out)";
