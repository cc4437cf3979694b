import type { CsvRow } from "./format.js";
import type { CsvBatch } from "./reader.js";

/**
 * One item for each row of the batches. It does what an async generator would do, but a generator takes as long for a step as
 * decoding a short row does, and this a third of that.
 */
export function each<Item>(
  batches: AsyncGenerator<CsvBatch, void, undefined>,
  itemOf: (row: CsvRow, columns: readonly string[]) => Item,
): AsyncIterableIterator<Item, undefined> {
  let columns: readonly string[] = [];
  let rows: Iterator<CsvRow> = [].values();
  let waiting = 0;
  let turn: Promise<unknown> = Promise.resolve();

  async function nextBatch(): Promise<IteratorResult<Item, undefined>> {
    for (;;) {
      const row = rows.next();
      if (row.done !== true) {
        return { done: false, value: itemOf(row.value, columns) };
      }
      const batch = await batches.next();
      if (batch.done === true) {
        return { done: true, value: undefined };
      }
      columns = batch.value.columns;
      rows = batch.value.rows.values();
    }
  }

  return {
    next() {
      const row = waiting === 0 ? rows.next() : undefined;
      if (row !== undefined && row.done !== true) {
        return Promise.resolve({ done: false, value: itemOf(row.value, columns) });
      }
      waiting += 1;
      const result = turn.then(nextBatch).finally(() => {
        waiting -= 1;
      });
      turn = result.catch(() => undefined);
      return result;
    },
    async return() {
      rows = [].values();
      await batches.return();
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
