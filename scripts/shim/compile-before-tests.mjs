/** Tests run the sources, whose native shim lies beside them: it is compiled when they have changed. */
import { compileShim } from "./compile-shim.mjs";

export default function setup() {
  const result = compileShim();
  if (!result.built) console.log(`no native shim: ${result.reason}; its tests are left out`);
}
