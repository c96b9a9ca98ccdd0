/** The door for whoever asks the process of box stores: types and one function, and nothing of SQLite. */
export type { BoxStoreCall, BoxStoreReply, SnapshotFacts, StoreAccess } from "./box-store-call.ts";
export { type BoxStoreAnswer, type BoxStoreProcess, boxStoreRole, callBoxStore } from "./call-box-store.ts";
export { refusePartialRoot } from "./refuse-partial-root.ts";
