/** Returns the values of an async iterable. */
export async function collect(values) {
  const all = [];
  for await (const value of values) {
    all.push(value);
  }
  return all;
}
