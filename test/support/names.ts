import dns, { type LookupAddress } from "node:dns";
import type { LookupFunction } from "node:net";
import { jest } from "@jest/globals";
import { nodeRuntime, useRuntime } from "./virtual-runtime.js";

/**
 * Has all names resolve to addresses, which may change, instead of asking the system. Connections of this library resolve
 * names by the runtime; `@grpc/grpc-js` does so by itself.
 */
export function resolveNames(addresses: () => readonly string[]): Disposable {
  const found = (): LookupAddress[] =>
    addresses().map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
  const lookup: LookupFunction = (_, __, callback) => {
    setImmediate(() => callback(null, found()));
  };
  const runtime = useRuntime({ connect: (options) => nodeRuntime.connect({ ...options, lookup }) });
  const promised: unknown = async () => found();
  const spy = jest.spyOn(dns.promises, "lookup").mockImplementation(promised as typeof dns.promises.lookup);
  return {
    [Symbol.dispose]() {
      spy.mockRestore();
      runtime[Symbol.dispose]();
    },
  };
}
