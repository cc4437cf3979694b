/**
 * Returns whether a value is bytes, including those of another realm: in Jest's environments and in contexts of `node:vm`, they are
 * not instances of the local `Uint8Array`.
 */
export function isBytes(value: unknown): value is Uint8Array {
  return ArrayBuffer.isView(value) && Object.prototype.toString.call(value) === "[object Uint8Array]";
}
