/**
 * The limits of the tools, each with its reason. What a model reads has to stay small enough for many results to
 * fit in one request, and nothing may grow with what a command prints.
 */

/** the start of a cut output, in bytes of UTF-8: enough to see what ran and how it began */
export const outputHeadMaxBytes = 12 * 1024;
/** the end of a cut output, in bytes of UTF-8: larger than the head, because failures are told last */
export const outputTailMaxBytes = 20 * 1024;
/** everything that one result may show, in bytes of UTF-8 */
export const resultTextMaxBytes = outputHeadMaxBytes + outputTailMaxBytes;

/** a command without its own limit is stopped after this long */
export const shellTimeoutDefaultMs = 10 * 60_000;
/** the longest limit that a call may ask for; longer work belongs in the background */
export const shellTimeoutMaxMs = 24 * 60 * 60_000;
/** between TERM and KILL */
export const shellGraceMs = 2_000;
/** after KILL, how long the end of the execution may take to be reported */
export const shellStopMaxMs = 10_000;
/** how long past its own limit an execution may stay without a reported end before the box counts as lost */
export const shellOverrunMaxMs = 60_000;
/** a command that ends within this time is told with the answer to its start; until then none of its output is shown */
export const shellSettleMs = 100;
/** a background command that ends within this time is reported as ended, so that a typing error isn't missed */
export const backgroundSettleMs = 300;

/** live output for people: a burst, and what is added to the allowance each second; the rest is counted and left out */
export const liveBurstMaxBytes = 64 * 1024;
export const liveBytesPerSecond = 32 * 1024;

/** arguments longer than this are refused unread */
export const argumentsMaxChars = 8 * 1024 * 1024;
/** how many wrong fields one refusal names */
export const argumentFaultsMax = 5;

/** lines of a file that one read shows when the call names no number */
export const readLinesDefault = 2_000;
/** the first page of a file on its way from the box: most reads need no other */
export const readFirstPageMaxBytes = 256 * 1024;
/** further pages; large, because the box computes the file's digest for each */
export const readPageMaxBytes = 4 * 1024 * 1024;
/** how far into a file a read by lines may search for its first line */
export const readScanMaxBytes = 32 * 1024 * 1024;
/** one page of an execution's output on its way from the box */
export const outputPageMaxBytes = 1024 * 1024;
/** pages of output that one read of a handle may pass through; more than any spool holds */
export const outputPagesMax = 256;
/** the largest file that can be edited by exact replacement */
export const editMaxBytes = 8 * 1024 * 1024;
/** the largest content that can be written by one call */
export const writeMaxBytes = 8 * 1024 * 1024;

export const listDepthMax = 8;
export const listEntriesMax = 1_000;
export const globFilesMax = 1_000;
export const grepResultsDefault = 200;
export const grepResultsMax = 1_000;
export const grepContextMax = 20;
/** a longer line of a match is cut, because minified files have lines of megabytes */
export const grepLineMaxChars = 500;
/** tries to deliver the stop of an interrupted command while the daemon restarts, and the pause between them */
export const stopAttemptsMax = 6;
export const stopRetryMs = 500;
