/** Binds the verbs to the services. One file for each verb; nothing is decided here. */
import type { ConnectRouter } from "@connectrpc/connect";
import { Control, Files, Processes } from "@sand/protocol/exec";
import type { SandboxMode } from "@sand/sandbox-policy";
import type { BoxPolicy } from "./box-policy.ts";
import { describeCapabilities } from "./control/capabilities.ts";
import type { Ping } from "./control/ping.ts";
import { globFiles } from "./files/glob.ts";
import { grepFiles } from "./files/grep.ts";
import { listFolder, statPath } from "./files/list.ts";
import { createPathFence } from "./files/path-fence.ts";
import { readFileRange } from "./files/read.ts";
import { createSearch } from "./files/search-program.ts";
import { createFileWrite } from "./files/write.ts";
import type { WriteJournal } from "./files/write-journal.ts";
import type { Ledger } from "./ledger/ledger.ts";
import { createAttach } from "./processes/attach.ts";
import { forgetExecution } from "./processes/forget.ts";
import { listExecutions } from "./processes/list.ts";
import { createRead } from "./processes/read.ts";
import { createSignal, type SignalDeps } from "./processes/signal.ts";
import { createStart, type StartDeps } from "./processes/start.ts";
import { createWait } from "./processes/wait.ts";
import { createStdinVerbs } from "./processes/write.ts";

export interface RouteDeps {
  readonly ledger: Ledger;
  readonly policy: BoxPolicy;
  readonly sandbox: SandboxMode;
  readonly ping: Ping;
  readonly journal: WriteJournal | undefined;
  readonly start: StartDeps;
  readonly signal: SignalDeps;
}

export function createRoutes(deps: RouteDeps): (router: ConnectRouter) => void {
  const { ledger, policy } = deps;
  const fence = createPathFence(policy);
  const search = createSearch(policy, fence);
  const [start, attach, read, wait] = [
    createStart(deps.start),
    createAttach(ledger, deps.signal.clock),
    createRead(ledger),
    createWait(ledger),
  ];
  const stdin = createStdinVerbs(ledger);
  const writeFile = createFileWrite({ fence, journal: deps.journal });

  return (router) => {
    router.service(Control, {
      ping: (request) => deps.ping(request),
      capabilities: () => describeCapabilities(policy, deps.sandbox, deps.start.ledgerEnabled),
    });
    router.service(Processes, {
      start: (request) => start(request),
      attach: (request, context) => attach(request, context.signal),
      read: (request, context) => read(request, context.signal),
      write: (request) => stdin.write(request),
      closeStdin: (request) => stdin.closeStdin(request),
      signal: createSignal(deps.signal),
      wait: (request, context) => wait(request, context.signal),
      list: () => listExecutions(ledger),
      forget: (request) => forgetExecution(ledger, request),
    });
    router.service(Files, {
      read: (request) => readFileRange(fence, request),
      write: (request) => writeFile(request),
      list: (request) => listFolder(fence, request),
      stat: (request) => statPath(fence, request),
      grep: (request) => grepFiles(search, request),
      glob: (request) => globFiles(search, request),
    });
  };
}
