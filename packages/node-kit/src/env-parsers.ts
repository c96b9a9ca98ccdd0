/** Parsers for the rows of a settings table. Each throws a reason that reads on after the variable's name. */

export function textValue(text: string): string {
  return text;
}

export function integerBetween(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^-?\d{1,15}$/u.test(text) || value < min || value > max) {
      throw new RangeError(`must be a whole number from ${min} to ${max}`);
    }
    return value;
  };
}

/** a port to listen on; 0 means any free one */
export const portValue = integerBetween(0, 65_535);

export function oneOf<const Choice extends string>(choices: readonly Choice[]): (text: string) => Choice {
  return (text) => {
    const choice = choices.find((candidate) => candidate === text);
    if (choice === undefined) throw new RangeError(`must be one of ${choices.join(", ")}`);
    return choice;
  };
}

export function flagValue(text: string): boolean {
  switch (text.toLowerCase()) {
    case "1":
    case "true":
    case "yes":
    case "on":
      return true;
    case "0":
    case "false":
    case "no":
    case "off":
      return false;
    default:
      throw new RangeError("must be 1 or 0");
  }
}
