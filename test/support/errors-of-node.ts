// Jest runs each test file in a separate realm, but errors of Node's own modules come from the outer realm. Without
// this file, `instanceof Error` would be false for them in tests. The library asks `isError` where that matters.
import { isNativeError } from "node:util/types";

Object.defineProperty(Error, Symbol.hasInstance, {
  value(this: unknown, value: unknown): boolean {
    const isError = isNativeError(value) || value instanceof DOMException;
    return this === Error ? isError : Function.prototype[Symbol.hasInstance].call(this, value);
  },
});
