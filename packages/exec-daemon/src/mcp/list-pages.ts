/** Reads a list of a server page by page, within bounds: a server may page for ever. */
import type { McpConnection } from "./mcp-connection.ts";
import { mcpLimits } from "./mcp-limits.ts";
import { type Fields, rowsOf, textOf } from "./read-fields.ts";

export interface ListQuery {
  readonly method: string;
  /** where the page's rows stand */
  readonly field: string;
  readonly maxMs: number;
  readonly signal?: AbortSignal;
}

export interface Listed {
  readonly rows: readonly Fields[];
  readonly truncated: boolean;
}

export async function listPages(connection: McpConnection, query: ListQuery): Promise<Listed> {
  const { method, field, maxMs, signal } = query;
  const rows: Fields[] = [];
  let bytes = 0;
  let cursor = "";
  const seen = new Set<string>();
  for (let page = 0; page < mcpLimits.listPagesMax; page += 1) {
    const params = cursor === "" ? {} : { cursor };
    const answer = await connection.request({
      method,
      params,
      maxMs,
      ...(signal === undefined ? {} : { signal }),
    });
    for (const row of rowsOf(answer[field])) {
      bytes += JSON.stringify(row).length;
      if (rows.length >= mcpLimits.listItemsMax || bytes > mcpLimits.listMaxBytes)
        return { rows, truncated: true };
      rows.push(row);
    }
    cursor = textOf(answer.nextCursor);
    if (cursor === "" || seen.has(cursor)) return { rows, truncated: false };
    seen.add(cursor);
  }
  return { rows, truncated: true };
}
