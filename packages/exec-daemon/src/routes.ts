/** Binds the verbs to the services. One file for each verb; nothing is decided here. */
import type { ConnectRouter } from "@connectrpc/connect";
import { Control, Processes } from "@sand/protocol/exec";
import type { SandboxMode } from "@sand/sandbox-policy";
import type { BoxPolicy } from "./box-policy.ts";
import { describeCapabilities } from "./control/capabilities.ts";
import type { OpenedControl } from "./control/open-control.ts";
import type { Ping } from "./control/ping.ts";
import { registerPolicyRoutes } from "./enclosure/policy-routes.ts";
import type { OpenedFiles } from "./files/open-files.ts";
import type { OpenedKeepers } from "./keeper/open-keepers.ts";
import type { Ledger } from "./ledger/ledger.ts";
import { registerMcpRoutes } from "./mcp/mcp-routes.ts";
import { type Attach, toAttachResponses } from "./processes/attach.ts";
import { forgetExecution } from "./processes/forget.ts";
import { listExecutions } from "./processes/list.ts";
import { createRead } from "./processes/read.ts";
import { createSettlingStart } from "./processes/settle-start.ts";
import { createSignal, type SignalDeps } from "./processes/signal.ts";
import { createStart, type StartDeps } from "./processes/start.ts";
import { createWait } from "./processes/wait.ts";
import { createStdinVerbs } from "./processes/write.ts";
import type { OpenedShells } from "./shells/open-shells.ts";

export interface RouteDeps {
  readonly control: OpenedControl;
  readonly ledger: Ledger;
  readonly attach: Attach;
  readonly policy: BoxPolicy;
  readonly sandbox: SandboxMode;
  readonly keeper: OpenedKeepers;
  readonly ping: Ping;
  readonly files: OpenedFiles;
  readonly shells: OpenedShells;
  readonly start: StartDeps;
  readonly signal: SignalDeps;
}

export function createRoutes(deps: RouteDeps): (router: ConnectRouter) => void {
  const { ledger, policy, files } = deps;
  const startOne = createStart(deps.start);
  const [start, read, wait] = [createSettlingStart(startOne, ledger), createRead(ledger), createWait(ledger)];
  const stdin = createStdinVerbs(ledger);

  return (router) => {
    router.service(Control, {
      ping: (request) => deps.ping(request),
      capabilities: () => describeCapabilities(policy, deps.sandbox, deps.start.ledgerEnabled, deps.keeper),
      ...deps.control.verbs,
    });
    registerMcpRoutes(router, deps.control.mcp, deps.signal.clock);
    router.service(Processes, {
      start: (request) => start(request),
      attach: (request, context) => toAttachResponses(deps.attach(request, context.signal)),
      read: (request, context) => read(request, context.signal),
      write: (request) => stdin.write(request),
      closeStdin: (request) => stdin.closeStdin(request),
      signal: createSignal(deps.signal),
      wait: (request, context) => wait(request, context.signal),
      list: () => listExecutions(ledger),
      forget: (request) => forgetExecution(ledger, request),
    });
    files.register(router);
    deps.shells.register(router, startOne);
    registerPolicyRoutes(router, policy);
  };
}
