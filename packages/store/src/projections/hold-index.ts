/**
 * The open search index of the thread of projections. It is opened on its first use, and again when its file was removed
 * or replaced. After a failure it is closed: a damaged one is set aside and begun anew at once, any other is tried again
 * with the next use.
 */
import { isDamage } from "../sqlite.ts";
import { isBoxErrorOf } from "./is-box-error.ts";
import { type OpenedSearchIndex, openSearchIndex, removeIndex, setAsideIndex } from "./open-search-index.ts";
import { createSearchProjector, type SearchProjector } from "./project-search.ts";
import { createSearchReads, type SearchReads } from "./search-rows.ts";

export interface OpenIndex {
  readonly index: OpenedSearchIndex;
  readonly search: SearchProjector;
  readonly reads: SearchReads;
}

export interface HeldIndex {
  use(): OpenIndex;
  /** Returns why it can't be used now, or nothing when an empty one was made. */
  fail(error: unknown): unknown;
  /** Makes an empty one. */
  renew(): void;
  close(): void;
}

export interface HeldIndexDeps {
  readonly root: string;
  readonly nowMs: () => number;
  /** an empty index was made; a damaged one lies at `setAside` */
  readonly onFresh: (setAside: string | undefined) => void;
  /** called before the file is closed, for what has statements on it */
  readonly onClose: () => void;
}

export function createHeldIndex(deps: HeldIndexDeps): HeldIndex {
  let opened: OpenIndex | undefined;
  let setAside: string | undefined;

  function close(): void {
    deps.onClose();
    const last = opened;
    opened = undefined;
    last?.index.database.close();
  }

  function use(): OpenIndex {
    if (opened?.index.isInPlace() === false) close();
    if (opened === undefined) {
      const index = openSearchIndex(deps.root, deps.nowMs());
      const { connection } = index.database;
      opened = { index, search: createSearchProjector(connection), reads: createSearchReads(connection) };
      const moved = index.setAside ?? setAside;
      setAside = undefined;
      if (index.isNew) deps.onFresh(moved);
    }
    return opened;
  }

  function closeQuietly(): void {
    try {
      close();
    } catch {
      // The connection failed already; what matters is that it isn't used any more.
      opened = undefined;
    }
  }

  return {
    use,
    close,
    fail(error) {
      closeQuietly();
      if (!isDamage(error) && !isBoxErrorOf(error, "store/damaged")) return error;
      try {
        setAside = setAsideIndex(deps.root, deps.nowMs());
        use();
        return undefined;
      } catch (reason) {
        return reason;
      }
    },
    renew() {
      close();
      removeIndex(deps.root);
      use();
    },
  };
}
