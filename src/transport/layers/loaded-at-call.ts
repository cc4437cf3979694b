import { Code, ConnectError } from "@connectrpc/connect";
import type { ClosableTransport } from "../closable.js";

/**
 * Make a transport whose code is loaded with the first call, so that nobody loads the transports that are not used.
 *
 * @param load loads the code and makes the transport; called once
 * @returns the transport
 */
export function loadedAtCall(load: () => Promise<ClosableTransport>): ClosableTransport {
  let loading: Promise<ClosableTransport> | undefined;
  let closed = false;

  function loaded(): Promise<ClosableTransport> {
    if (closed && loading === undefined) {
      throw new ConnectError("the transport is closed", Code.Canceled);
    }
    loading ??= load();
    return loading;
  }

  return {
    unary: async (...call) => (await loaded()).unary(...call),
    stream: async (...call) => (await loaded()).stream(...call),
    async close() {
      closed = true;
      await loading?.then(
        (transport) => transport.close(),
        () => undefined, // What was never made has nothing to close.
      );
    },
  };
}
