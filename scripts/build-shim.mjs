/** Compiles the native shim for this machine; without a C compiler it says so, and nothing else depends on it. */
import { compileShim } from "./shim/compile-shim.mjs";

const result = compileShim();
if (result.built)
  console.log(`built ${result.shim}${result.isStatic ? "" : " (not static: for this machine only)"}`);
else console.log(`no native shim: ${result.reason}; executions are kept by Node processes`);
