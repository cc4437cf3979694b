/** The sizes of messages as they came, by the messages and by what was made of them. */
const sizes = new WeakMap<object, number>();

/**
 * Stores how many bytes a message had as it came, or what was made of one.
 *
 * @param value the message, or a list of what it holds
 * @param bytes its size
 */
export function setSize(value: object, bytes: number): void {
  sizes.set(value, bytes);
}

/**
 * Returns how many bytes a message had as it came.
 *
 * @param value the message, or a list of what it holds
 * @returns its size in bytes; 0 if it is not known, as of a message that did not come from a node
 */
export function sizeOf(value: object): number {
  return sizes.get(value) ?? 0;
}
