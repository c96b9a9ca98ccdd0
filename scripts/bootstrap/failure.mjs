/** A failure that a person can do something about: what went wrong, and the cure. */
export class Failure extends Error {
  /** @param {string} message @param {string} hint */
  constructor(message, hint) {
    super(message);
    this.hint = hint;
  }
}

/** @param {string} text */
export function say(text) {
  process.stderr.write(`bootstrap: ${text}\n`);
}

/** @param {Failure} failure */
export function fail(failure) {
  say(`failed: ${failure.message}`);
  say(`what helps: ${failure.hint}`);
}
