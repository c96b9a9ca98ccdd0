/**
 * The one logger of a process: pino, written synchronously, so that the last line before a crash is there.
 *
 * Prompts, arguments, output and headers are never passed to it. The redacted names are a second line of defence for
 * the day when somebody logs a whole object.
 */
import { type DestinationStream, type Logger, pino, stdTimeFunctions } from "pino";

export type { Logger } from "pino";

export interface LoggerOptions {
  readonly name: string;
  /** one of pino's level names */
  readonly level: string;
  /** receives each line, with its line break; the standard error stream when absent */
  readonly write?: (line: string) => void;
}

const secretFields = ["authorization", "token", "apiKey", "password", "secret", "cookie"];

export function createLogger(options: LoggerOptions): Logger {
  return pino(
    {
      name: options.name,
      level: options.level,
      timestamp: stdTimeFunctions.isoTime,
      redact: {
        paths: secretFields.flatMap((field) => [field, `*.${field}`, `*.*.${field}`]),
        censor: "[redacted]",
      },
    },
    destination(options.write),
  );
}

function destination(write: ((line: string) => void) | undefined): DestinationStream {
  // Standard output belongs to what a command answers; a log line there would break `--json`.
  return write === undefined ? pino.destination({ dest: 2, sync: true }) : { write };
}
