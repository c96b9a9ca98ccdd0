/** What is proved of issue 5 by failing disks and power cuts. */
import { proveDiskFaults } from "./prove-disk-faults.mjs";
import { provePowerLoss } from "./prove-power-loss.mjs";

export const durabilityParts = (report) => ({
  "power loss of files": (run) => provePowerLoss({ ...run, report }),
  "disk faults": (run) => proveDiskFaults({ ...run, report }),
});
