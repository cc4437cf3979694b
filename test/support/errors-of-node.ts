// Jest runs a test file in a realm of its own, while errors of Node's own modules come from the outer one. Libraries that
// ask `instanceof Error` would see in a test what they never see in production; here both realms' errors are errors.
import { isNativeError } from "node:util/types";

Object.defineProperty(Error, Symbol.hasInstance, {
  value(this: unknown, value: unknown): boolean {
    const isError = isNativeError(value) || value instanceof DOMException;
    return this === Error ? isError : Function.prototype[Symbol.hasInstance].call(this, value);
  },
});
