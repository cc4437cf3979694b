import type { CsvCount } from "../csv/check.js";
import type { CsvBatch } from "../csv/reader.js";
import { RequestError } from "../errors/index.js";
import { nameText } from "../zip/archive-error.js";

/** The two ways to read a file, of which one is chosen. */
export interface Ways {
  /** Its rows behind those that came with the header row. */
  batches(): AsyncGenerator<CsvBatch, void, undefined>;
  /** Its bytes from the beginning. */
  content(): AsyncGenerator<Buffer, CsvCount, undefined>;
}

/** A file that is being read. */
export interface FileReading {
  /**
   * Take the rows.
   *
   * @param header the rows that came with the header row
   * @throws {@link RequestError} where something was taken before, or the next file was asked for
   */
  batches(header: CsvBatch): AsyncGenerator<CsvBatch, void, undefined>;
  /**
   * Take the bytes.
   *
   * @throws {@link RequestError} as above
   */
  content(): AsyncGenerator<Buffer, CsvCount, undefined>;
  /** Read what is left, as the next file is due, so that all is checked. */
  finish(): Promise<void>;
}

/**
 * Hand out the rows or the bytes of a file, once.
 *
 * @param name of the file, for errors
 * @param ways how it can be read
 * @returns the reading
 */
export function startReading(name: string, ways: Ways): FileReading {
  let chosen: "rows" | "content" | undefined;
  let over = false;
  let rest: () => Promise<unknown> = () => drained(ways.batches());
  let failure: { readonly reason: unknown } | undefined;

  async function* taken<T, R>(values: AsyncGenerator<T, R, undefined>, first?: T): AsyncGenerator<T, R, undefined> {
    if (first !== undefined) {
      yield first;
    }
    // Not `yield*`: that would end the values when the caller stops early, but the rest is still to be checked.
    for (;;) {
      if (over) {
        throw passed(name, `its ${chosen} ${chosen === "rows" ? "are" : "is"} taken after the next file was asked for`);
      }
      const value = await next(values);
      if (value.done === true) {
        return value.value;
      }
      yield value.value;
    }
  }

  async function next<T, R>(values: AsyncGenerator<T, R, undefined>): Promise<IteratorResult<T, R>> {
    try {
      return await values.next();
    } catch (reason) {
      failure = { reason };
      throw reason;
    }
  }

  async function drained(values: AsyncGenerator<unknown, unknown, undefined>): Promise<void> {
    while ((await values.next()).done !== true) {
      // Only read.
    }
  }

  function choose<T, R>(way: "rows" | "content", values: () => AsyncGenerator<T, R, undefined>, first?: T) {
    if (over) {
      throw passed(name, "the next file was asked for before");
    }
    if (chosen !== undefined) {
      throw passed(name, `its ${chosen} ${chosen === "rows" ? "were" : "was"} taken before`);
    }
    chosen = way;
    const source = values();
    rest = () => drained(source);
    return taken(source, first);
  }

  return {
    batches: (header) => choose("rows", ways.batches, header),
    content: () => choose("content", ways.content),
    async finish() {
      over = true;
      if (failure !== undefined) {
        throw failure.reason; // A caller that caught it must not take the other files for the whole.
      }
      await rest();
    },
  };
}

function passed(name: string, what: string): RequestError {
  return new RequestError(`${nameText(name)} cannot be read now: ${what}`, {
    advice: "Read each file once, when it comes; open the archive again to read it again.",
  });
}
