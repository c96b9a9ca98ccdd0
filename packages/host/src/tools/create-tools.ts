/** The tools that a turn offers over one box. Cheap to make, so a turn makes its own once its box is ready. */
import type { Tool, ToolSet } from "@sand/agent-core";
import { createKeyedMutex } from "@sand/node-kit";
import type { Clock } from "@sand/protocol";
import type { BoxPort } from "../box/box-port.ts";
import { createEditFileTool } from "./edit-file.ts";
import { createGlobTool } from "./glob.ts";
import { createGrepTool } from "./grep.ts";
import { createListFilesTool } from "./list-files.ts";
import { createReadFileTool } from "./read-file.ts";
import { createShellTool } from "./shell.ts";
import { createWriteFileTool } from "./write-file.ts";

export function createTools({ box, clock }: { readonly box: BoxPort; readonly clock: Clock }): ToolSet {
  // Parallel calls of one step often change one file; in order, each sees what the one before it wrote.
  const inFileOrder = createKeyedMutex();
  const tools: readonly Tool[] = [
    createShellTool({ box, clock }),
    createReadFileTool({ box }),
    createWriteFileTool({ box, inFileOrder }),
    createEditFileTool({ box, inFileOrder }),
    createListFilesTool({ box }),
    createGlobTool({ box }),
    createGrepTool({ box }),
  ];
  return new Map(tools.map((tool) => [tool.description.name, tool]));
}
