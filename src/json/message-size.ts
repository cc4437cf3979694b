/** The sizes of messages, by the messages, their JSON and what was made of them. */
const sizes = new WeakMap<object, number>();

/**
 * Stores how large a message is, or what was made of one.
 *
 * @param value the message, its JSON, or a list of what it holds
 * @param bytes its size on the wire, or more where its elements are small; see `ElementCount` in `element-limit.ts`
 */
export function setSize(value: object, bytes: number): void {
  sizes.set(value, bytes);
}

/**
 * Returns how large a message is.
 *
 * @param value the message, its JSON, or a list of what it holds
 * @returns its size in bytes; 0 if it is not known, as of a message that did not come from a node, or of a scalar
 */
export function sizeOf(value: unknown): number {
  return typeof value === "object" && value !== null ? (sizes.get(value) ?? 0) : 0;
}
