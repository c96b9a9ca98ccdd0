/**
 * The host's process: settings, one logger, the host, and its end.
 *
 * SIGTERM and SIGINT close in order; a second one ends at once. Nothing here decides anything about turns.
 */
import { armFailpoints, createLogger, type Logger, randomIds, systemClock } from "@sand/node-kit";
import { BoxError } from "@sand/protocol";
import { readHostConfig } from "./config.ts";
import { type Host, startHost } from "./start-host.ts";
import { version } from "./version.ts";

/** a shutdown that takes longer is ended by force, in `ms`; Docker's own grace is 10 s */
const shutDownMaxMs = 9_000;

/** Resolves when the host is up; it goes on until a signal ends it. `program` is the file that its threads are started from. */
export async function runHost(program: string): Promise<void> {
  try {
    await startProgram(program);
  } catch (error) {
    endAtStart(error);
  }
}

async function startProgram(program: string): Promise<void> {
  const config = readHostConfig();
  armFailpoints(config.failpoint ?? undefined);
  const logger = createLogger({ name: "host", level: config.logLevel });
  for (const warning of config.warnings) logger.warn({ event: "config.unknown" }, warning);
  watchForBugs(logger);
  const takeOver = process.argv.includes("--take-over");
  const parts = { config, version, clock: systemClock, ids: randomIds, logger, program, takeOver };
  const host = await startHost(parts);
  endOnSignal(host, logger);
}

/** A bug that nobody caught leaves the process in an unknown state; the next start goes on from the records. */
function watchForBugs(logger: Logger): void {
  const die = (error: unknown): void => {
    logger.fatal({ event: "host.crashed", err: error }, "an error that nobody caught; the host ends");
    process.exit(70);
  };
  process.on("uncaughtException", die);
  process.on("unhandledRejection", die);
}

function endOnSignal(host: Host, logger: Logger): void {
  let isEnding = false;
  const end = (signal: NodeJS.Signals): void => {
    if (isEnding) process.exit(130);
    isEnding = true;
    logger.info({ event: "host.stopping", signal }, "the host shuts down");
    setTimeout(() => process.exit(75), shutDownMaxMs).unref();
    host.close().then(
      () => process.exit(0),
      (error: unknown) => {
        logger.error({ event: "host.stop-failed", err: error }, "the shutdown failed");
        process.exit(70);
      },
    );
  };
  process.on("SIGTERM", end);
  process.on("SIGINT", end);
}

/** Before the logger exists, and for what an operator must act on: one clear line and its hint. */
function endAtStart(error: unknown): never {
  const hint = error instanceof BoxError && error.hint !== undefined ? ` (${error.hint})` : "";
  const text = error instanceof Error ? error.message : String(error);
  process.stderr.write(`sand host: ${text}${hint}\n`);
  process.exit(error instanceof BoxError && error.code === "config/invalid" ? 78 : 1);
}
