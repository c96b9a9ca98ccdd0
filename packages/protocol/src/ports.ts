/** The ports that the contract fixes. `0` in a setting means any free port; the real one is in the discovery file. */
export const ports = {
  execRpc: 1337,
  execPty: 1338,
  forkRouter: 1339,
  gateway: 1340,
  primaryNoVnc: 6080,
  forkNoVnc: 6081,
  egressTunnel: 8790,
} as const;
