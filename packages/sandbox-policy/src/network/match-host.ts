/** Whether a host and port fit a list of patterns: `name`, `*.name` (what lies below, not the name), with an optional `:port`. */

export interface HostPattern {
  readonly name: string;
  readonly isBelow: boolean;
  /** undefined: any */
  readonly port: number | undefined;
}

export function parseHostPattern(text: string): HostPattern {
  const match = /^(?:\[(?<v6>[^\]]+)\]|(?<plain>[^:]*)|(?<bare>.*))(?::(?<port>\d+))?$/u.exec(text);
  const whole = match?.groups?.v6 ?? match?.groups?.plain ?? match?.groups?.bare ?? text;
  const port = match?.groups?.port;
  const isBelow = whole.startsWith("*.");
  return {
    name: normalizeHost(isBelow ? whole.slice(2) : whole),
    isBelow,
    port: port === undefined ? undefined : Number(port),
  };
}

/** As it is compared: lower case, without the root's dot and without brackets. */
export function normalizeHost(host: string): string {
  return host
    .toLowerCase()
    .replace(/^\[|\]$/gu, "")
    .replace(/\.$/u, "");
}

export function findMatch(host: string, port: number, patterns: readonly string[]): string | undefined {
  const name = normalizeHost(host);
  return patterns.find((text) => {
    const pattern = parseHostPattern(text);
    if (pattern.port !== undefined && pattern.port !== port) return false;
    return pattern.isBelow ? name.endsWith(`.${pattern.name}`) : name === pattern.name;
  });
}

/** True when all that `domain` lets through, one of `patterns` lets through as well. */
export function isCovered(domain: string, patterns: readonly string[]): boolean {
  const inner = parseHostPattern(domain);
  return patterns.some((text) => {
    const outer = parseHostPattern(text);
    if (outer.port !== undefined && outer.port !== inner.port) return false;
    if (!outer.isBelow) return !inner.isBelow && inner.name === outer.name;
    return inner.name.endsWith(`.${outer.name}`) || (inner.isBelow && inner.name === outer.name);
  });
}
