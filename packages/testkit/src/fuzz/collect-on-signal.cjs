/**
 * Loaded into a host under test by `--require`, beside `--expose-gc`: on SIGUSR2 it collects garbage and writes the
 * resident memory to the file named by FUZZ_MEMORY_FILE. So the shipped bundle is measured as it is.
 */
const { renameSync, writeFileSync } = require("node:fs");

const path = process.env.FUZZ_MEMORY_FILE;
let round = 0;

/** Also gives the pages that it has freed back to the system: otherwise the peak of the load would be measured. */
const collect = () => global.gc({ type: "major", execution: "sync", flavor: "last-resort" });

process.on("SIGUSR2", () => {
  round += 1;
  collect();
  // Finalizers and the allocator's own clean-up run between the two.
  setTimeout(() => {
    collect();
    writeFileSync(`${path}.new`, JSON.stringify({ round, ...process.memoryUsage() }));
    renameSync(`${path}.new`, path);
  }, 200);
});
