import type { JsonValue } from "@bufbuild/protobuf";
import { ConnectError, createClient, type Interceptor } from "@connectrpc/connect";
import { type ClosableTransport, TradewireError } from "tradewire";
import { TradingDataService } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import type { HttpBody } from "tradewire/gen/google/api/httpbody_pb.js";
import { createRestTransport } from "tradewire/transport";
import { type RawAnswer, startRawHttp } from "./raw-http.js";

export const JSON_TYPE = { "content-type": "application/json" };
export const ZIP_TYPE = { "content-type": "application/zip" };
export const CHUNKED = { "transfer-encoding": "chunked" };

/** Start a server that answers as it is told, byte for byte, and calls it over REST. */
export async function startRestProbe() {
  const server = await startRawHttp();
  let transport: ClosableTransport | undefined;

  function connect({ path = "", maxJsonBytes = 1024, interceptors = [] as Interceptor[] } = {}) {
    transport = createRestTransport({ url: `${server.url}${path}`, limits: { maxJsonBytes }, interceptors });
    return { transport, client: createClient(TradingDataService, transport) };
  }

  /** The segments that a server's answer lists. */
  async function segments(answer: RawAnswer, options: Parameters<typeof connect>[0] = {}) {
    server.answer = answer;
    return (await connect(options).client.listAllNetworkHistorySegments({})).segments;
  }

  /** The messages of an export that a server's answer streams. */
  async function exported(answer: RawAnswer, options: Parameters<typeof connect>[0] = {}): Promise<HttpBody[]> {
    server.answer = answer;
    const messages: HttpBody[] = [];
    for await (const message of connect(options).client.exportNetworkHistory({})) {
      messages.push(message);
    }
    return messages;
  }

  return { server, connect, segments, exported, disconnect: async () => transport?.close() };
}

/** Put the bytes of messages together. */
export function data(messages: readonly HttpBody[]): string {
  return Buffer.concat(messages.map((message) => message.data)).toString("latin1");
}

/** Get the failure of a call. */
export async function failure(promise: Promise<unknown>): Promise<ConnectError> {
  const reason: unknown = await promise.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!(reason instanceof ConnectError)) {
    throw new Error("a ConnectError was expected", { cause: reason });
  }
  return reason;
}

/** Get the error of this library that a call failed with. */
export async function ownFailure(promise: Promise<unknown>): Promise<TradewireError> {
  const { cause } = await failure(promise);
  if (!(cause instanceof TradewireError)) {
    throw new Error("an error of the library was expected as the cause", { cause });
  }
  return cause;
}

/** Make an envelope of an export's chunk. */
export function result(bytes: string, more: { [key: string]: JsonValue } = {}): string {
  const body = { contentType: "application/zip", data: Buffer.from(bytes, "latin1").toString("base64"), ...more };
  return `${JSON.stringify({ result: body })}\n`;
}
