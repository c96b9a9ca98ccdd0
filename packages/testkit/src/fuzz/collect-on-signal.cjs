/**
 * Loaded into a host under test by `--require`, beside `--expose-gc`: on SIGUSR2 it collects garbage and writes the
 * resident memory to the file named by FUZZ_MEMORY_FILE. So the shipped bundle is measured as it is.
 */
const { renameSync, writeFileSync } = require("node:fs");

const path = process.env.FUZZ_MEMORY_FILE;
let round = 0;

process.on("SIGUSR2", () => {
  round += 1;
  global.gc();
  // Finalizers and the allocator's own clean-up run between the two.
  setTimeout(() => {
    global.gc();
    writeFileSync(`${path}.new`, JSON.stringify({ round, ...process.memoryUsage() }));
    renameSync(`${path}.new`, path);
  }, 200);
});
