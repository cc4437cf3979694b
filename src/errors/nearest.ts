/**
 * Find the candidate that a misspelt name most likely means.
 *
 * @param name the misspelt name
 * @param candidates the names that exist
 * @returns the nearest candidate, without regard to case; undefined where none is near
 */
export function nearest(name: string, candidates: readonly string[]): string | undefined {
  const [best] = candidates
    .map((candidate) => ({ candidate, distance: editDistance(name.toLowerCase(), candidate.toLowerCase()) }))
    .filter(({ candidate, distance }) => distance * 2 <= name.length + candidate.length)
    .sort((a, b) => a.distance - b.distance);
  return best?.candidate;
}

/**
 * Say what there is in place of a name that there is not.
 *
 * @param name the name
 * @param names the names that there are
 * @returns the nearest, where one is near, and all; for an error's advice
 */
export function whatThereIs(name: string, names: readonly string[]): string {
  const near = nearest(name, names);
  return `${near === undefined ? "" : `Did you mean ${near}? `}There are ${names.join(", ")}.`;
}

/**
 * The number of characters to insert and delete to turn one text into the other. Replacing one counts as both, so that
 * `GRPC_WINDOW` is nearer to `GRPC_WINDOW_BYTES` than to `GRPC_CODEC`.
 */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (const [index, character] of [...from].entries()) {
    const next = [index + 1];
    for (const [column, other] of [...to].entries()) {
      const replaced = (row[column] ?? 0) + (character === other ? 0 : 2);
      next.push(Math.min(replaced, (row[column + 1] ?? 0) + 1, (next[column] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
