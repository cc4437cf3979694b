/**
 * Sets an entry of a map, and removes the oldest one if the map then holds too many.
 *
 * @param map the map
 * @param key the entry's key; one that is in the map already keeps its place
 * @param value the entry's value
 * @param max the most entries of the map
 * @returns the key that was removed; `undefined` if none was
 */
export function setBounded<K, V>(map: Map<K, V>, key: K, value: V, max: number): K | undefined {
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size <= max || oldest === undefined) {
    return undefined;
  }
  map.delete(oldest);
  return oldest;
}
