/**
 * Where the trees of a damaged database begin.
 *
 * Its own table of them says so. When that can't be reached from the first page, its rows are looked for in all others:
 * a tree's first page never changes, so an old row says it too. What is still unknown is where a fresh file of our
 * schema has it, and counts when the rows there are the table's.
 */
import SqliteDatabase from "better-sqlite3";
import { agentMigrations } from "../agent-schema.ts";
import { findRows, type TreeRoot } from "./find-rows.ts";
import type { PageImage } from "./page-image.ts";
import { type Cell, readCells } from "./read-cells.ts";
import { rowOf, tableShapes } from "./table-shapes.ts";

export function readSchema(image: PageImage): readonly TreeRoot[] {
  const roots = new Map<string, number>();
  for (const cell of schemaCells(image)) takeRoot(roots, cell, image.pageCount);
  if (!tableShapes.some(({ table }) => roots.has(table))) {
    for (let page = 2; page <= image.pageCount; page += 1) {
      for (const cell of readCells(image, page)?.cells ?? []) takeRoot(roots, cell, image.pageCount);
    }
  }
  for (const guess of rootsOfFreshFile()) {
    if (!roots.has(guess.name) && looksRight(image, guess)) roots.set(guess.name, guess.page);
  }
  return [...roots].map(([name, page]) => ({ name, page }));
}

function schemaCells(image: PageImage): readonly Cell[] {
  const first = readCells(image, 1);
  const below = first?.children.flatMap((page) => readCells(image, page)?.cells ?? []) ?? [];
  return [...(first?.cells ?? []), ...below];
}

function takeRoot(roots: Map<string, number>, { values }: Cell, pageCount: number): void {
  const [type, name, , page] = values;
  if (values.length !== 5 || (type !== "table" && type !== "index")) return;
  if (typeof name !== "string" || typeof page !== "number" || page < 2 || page > pageCount) return;
  roots.set(name, page);
}

/** Only of the first schema: what came later lies behind the rows that were there. */
function rootsOfFreshFile(): readonly TreeRoot[] {
  const fresh = new SqliteDatabase(":memory:");
  try {
    fresh.exec(agentMigrations[0] ?? "");
    return fresh
      .prepare<unknown[], TreeRoot>("SELECT name, rootpage AS page FROM sqlite_schema WHERE type = 'table'")
      .all();
  } finally {
    fresh.close();
  }
}

function looksRight(image: PageImage, root: TreeRoot): boolean {
  const shape = tableShapes.find(({ table }) => table === root.name);
  const found = findRows(image, [root]).tables.get(root.name);
  if (shape === undefined || found === undefined || found.rows.length === 0) return false;
  const sound = found.rows.filter((cell) => {
    const row = rowOf(shape, cell);
    return row !== undefined && shape.judge(row) !== "bad";
  });
  return sound.length * 2 > found.rows.length;
}
