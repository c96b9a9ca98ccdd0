/** What to say where a command needs the execution daemon and none runs. */
import { CommandFailure } from "../command-failure.ts";

export function noDaemon(): CommandFailure {
  return new CommandFailure("notRunning", "no execution daemon runs here", {
    hint: "a host starts it when it is needed: sand up",
  });
}
