// What yauzl gets in browsers for the modules of Node that it requires (bundle.mjs): events, and classes that it extends when it is
// loaded, but which only what reads files and contents uses.
import { Bytes } from "./compiled/src/runtime/bytes.js";

export { Bytes as Buffer };

/** Calls a function later. */
export const setImmediate = (callback) => queueMicrotask(callback);

/** The listeners of each emitter, by event. */
const listeners = new WeakMap();

/** Emits events. It is called without `new`, too. */
export function EventEmitter() {
  listeners.set(this, new Map());
}
EventEmitter.prototype = {
  on(event, listener) {
    const all = listeners.get(this);
    all.set(event, [...(all.get(event) ?? []), listener]);
    return this;
  },
  emit(event, ...values) {
    for (const listener of listeners.get(this).get(event) ?? []) {
      listener.apply(this, values);
    }
  },
};
EventEmitter.prototype.once = EventEmitter.prototype.on; // What yauzl waits for once comes once.
EventEmitter.prototype.addListener = EventEmitter.prototype.on;
EventEmitter.prototype.removeListener = function removeListener(event, listener) {
  const all = listeners.get(this);
  all.set(
    event,
    (all.get(event) ?? []).filter((each) => each !== listener),
  );
  return this;
};
EventEmitter.prototype.off = EventEmitter.prototype.removeListener;

export function inherits(child, parent) {
  Object.setPrototypeOf(child.prototype, parent.prototype);
}

export class Readable {}
export class Transform {}
export class PassThrough {}
export class Writable {}
