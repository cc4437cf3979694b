/** What came out of a source: its values up to an error, and the error if there was one. */
export interface Taken<T> {
  readonly values: T[];
  readonly error: unknown;
}

/** Take the values of a source to its end or to its error. */
export async function taken<T>(source: AsyncIterable<T>): Promise<Taken<T>> {
  const values: T[] = [];
  try {
    for await (const value of source) {
      values.push(value);
    }
    return { values, error: undefined };
  } catch (error) {
    return { values, error };
  }
}

/** Take bytes to their end. */
export async function textOf(source: AsyncIterable<Uint8Array>): Promise<string> {
  const { values, error } = await taken(source);
  if (error !== undefined) {
    throw error;
  }
  return Buffer.concat(values).toString("latin1");
}

/** Make a source of values. */
export async function* given<T>(values: Iterable<T>, end: () => unknown = () => undefined): AsyncGenerator<T> {
  yield* values;
  await end();
}
