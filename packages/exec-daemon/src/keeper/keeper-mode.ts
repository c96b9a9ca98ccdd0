/** What may keep executions: the native shim, a Node process for each, or `auto`, the first of them that works here. */
export const keeperModes = ["auto", "shim", "node"] as const;
export type KeeperMode = (typeof keeperModes)[number];
