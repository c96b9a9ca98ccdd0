import { expect, test } from "vitest";
import { memoryOf, parseCpuTimes, usedPercent } from "./metrics.ts";

test("time that is idle or waits for a device isn't busy", () => {
  expect(parseCpuTimes("cpu  10 5 5 70 10 0 0 0 0 0\ncpu0 1 1 1 1\n")).toEqual({ total: 100, busy: 20 });
});

test("the use of the processor is what was busy between two looks", () => {
  expect(usedPercent({ total: 100, busy: 20 }, { total: 300, busy: 70 })).toBe(25);
  expect(usedPercent({ total: 100, busy: 20 }, { total: 100, busy: 20 })).toBe(0);
});

test("memory that can be had again isn't used", () => {
  const text = "MemTotal:        2048 kB\nMemFree:  10 kB\nMemAvailable:    1024 kB\nCached:   512 kB\n";
  expect(memoryOf(text)).toEqual({
    ...{ mem_total: 2_097_152, mem_used: 1_048_576, mem_cache: 524_288 },
    ...{ mem_total_mib: 2, mem_used_mib: 1, mem_cache_mib: 0 },
  });
});
