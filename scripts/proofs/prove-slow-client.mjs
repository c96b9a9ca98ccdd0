/** The bench of a client that never reads, as a proof; a lost event ends it. */
import { benchSlowClient } from "../../bench/slow-client.mjs";
import { proveBenches } from "./prove-benches.mjs";

export const proveSlowClient = ({ report }) => proveBenches([benchSlowClient], { rounds: 1, report });
