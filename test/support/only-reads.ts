import { create, type DescMethod, type DescMethodServerStreaming, type DescMethodUnary } from "@bufbuild/protobuf";
import type { ConnectError, Transport } from "@connectrpc/connect";
import { withOurErrors } from "tradewire/transport";
import { memoryTransport, reasonOf } from "./memory-transport.js";

/**
 * Whether the library holds that a method only reads: else a call whose connection is lost fails with an outcome that is
 * unknown.
 */
export async function onlyReads(method: DescMethod): Promise<boolean> {
  const lost = Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET", syscall: "read" });
  const endpoint = { name: "grpc", url: "http://127.0.0.1:3007" };
  const transport = withOurErrors(
    memoryTransport(() => Promise.reject(lost)),
    endpoint,
  );
  const { message } = (await reasonOf(call(transport, method))) as ConnectError;
  return !/; it is unknown whether the (node|server) executed the call$/.test(message);
}

function call(transport: Transport, method: DescMethod): Promise<unknown> {
  async function* none() {}
  return isUnary(method)
    ? transport.unary(method, undefined, undefined, undefined, create(method.input))
    : transport.stream(streaming(method), undefined, undefined, undefined, none());
}

function isUnary(method: DescMethod): method is DescMethodUnary {
  return method.methodKind === "unary";
}

/** A method, whose way of streaming makes no difference to a call that fails at once. */
function streaming(method: DescMethod): DescMethodServerStreaming {
  return { ...method, methodKind: "server_streaming" };
}
