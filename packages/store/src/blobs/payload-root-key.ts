/** the value that names the root of the agent's payloads */
export const payloadRootKey = "payloadRoot";
