/**
 * Finds the rows of each table in a damaged database, and only rows that were there at its last commit.
 *
 * 1. Each tree is walked from its root. What is reached belongs to the table, so nothing deleted or replaced is found.
 * 2. Where a page of a tree can't be read, those below it are known by nothing. Each page that no tree reaches and that
 *    isn't free is looked at then: every page of a file is in a tree, in the overflow of one, or free.
 * 3. Where the list of free pages can't be read as a whole either, a page that no tree reaches may be an old one. Its rows
 *    are marked as doubtful, and the caller decides.
 */
import { hasSignature, type PageImage } from "./page-image.ts";
import { type Cell, readCells } from "./read-cells.ts";

export interface FoundRow extends Cell {
  /** found without its tree, where free pages aren't all known */
  readonly isDoubtful: boolean;
  /** the pages that it lies on */
  readonly pages: readonly number[];
}

export interface FoundTable {
  readonly rows: readonly FoundRow[];
  /** pages of the tree that can't be read */
  readonly lostPages: readonly number[];
  /** cells of readable pages that can't be read */
  readonly badCells: number;
}

export interface FoundRows {
  tables: ReadonlyMap<string, FoundTable>;
  /** rows of pages that no tree reaches; whose they are is told by what they say */
  readonly strays: readonly FoundRow[];
  /** whether each tree could be walked to its end */
  readonly isWhole: boolean;
}

export interface TreeRoot {
  readonly name: string;
  readonly page: number;
}

export function findRows(image: PageImage, roots: readonly TreeRoot[]): FoundRows {
  const seen = new Set<number>([1]);
  const tables = new Map<string, FoundTable>();
  for (const { name, page } of roots) tables.set(name, walkTree(image, page, seen));
  const isWhole = roots.length > 0 && [...tables.values()].every(({ lostPages }) => lostPages.length === 0);
  const strays = isWhole ? [] : findStrays(image, seen);
  return { tables, strays, isWhole };
}

function walkTree(image: PageImage, root: number, seen: Set<number>): FoundTable {
  const rows: FoundRow[] = [];
  const lostPages: number[] = [];
  const waiting = [root];
  let badCells = 0;
  for (let number = waiting.pop(); number !== undefined; number = waiting.pop()) {
    // A page has one parent; a second one says that a pointer is damaged.
    const page =
      number < 2 || number > image.pageCount || seen.has(number) ? undefined : readCells(image, number);
    if (page === undefined) {
      lostPages.push(number);
      continue;
    }
    seen.add(number);
    for (const overflow of page.cells.flatMap((cell) => cell.overflow)) seen.add(overflow);
    for (const cell of page.cells)
      rows.push({ ...cell, isDoubtful: false, pages: [number, ...cell.overflow] });
    badCells += page.badCells;
    // In their order, so that rows come in the order of their keys.
    waiting.push(...[...page.children].reverse());
  }
  return { rows, lostPages, badCells };
}

function findStrays(image: PageImage, seen: ReadonlySet<number>): readonly FoundRow[] {
  const free = readFreePages(image);
  const strays: FoundRow[] = [];
  for (let number = 2; number <= image.pageCount; number += 1) {
    if (seen.has(number) || free.pages.has(number)) continue;
    const page = readCells(image, number);
    if (page === undefined || page.kind === "table interior") continue;
    for (const cell of page.cells)
      strays.push({ ...cell, isDoubtful: !free.isWhole, pages: [number, ...cell.overflow] });
  }
  return strays;
}

interface FreePages {
  readonly pages: ReadonlySet<number>;
  readonly isWhole: boolean;
}

function readFreePages(image: PageImage): FreePages {
  const first = image.page(1);
  const pages = new Set<number>();
  if (first === undefined || !hasSignature(first)) return { pages, isWhole: false };
  const count = first.readUInt32BE(36);
  let trunk = first.readUInt32BE(32);
  while (trunk !== 0 && !pages.has(trunk) && pages.size < image.pageCount) {
    pages.add(trunk);
    const page = trunk > image.pageCount ? undefined : image.page(trunk);
    const leaves = page?.readUInt32BE(4) ?? 0;
    if (page === undefined || leaves > image.usableBytes / 4 - 2) break;
    for (let index = 0; index < leaves; index += 1) pages.add(page.readUInt32BE(8 + index * 4));
    trunk = page.readUInt32BE(0);
  }
  return { pages, isWhole: pages.size === count };
}
