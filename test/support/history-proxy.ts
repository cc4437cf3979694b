import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { type HistorySegment, TradingDataService } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import type { HttpBody } from "tradewire/gen/google/api/httpbody_pb.js";
import { serveRoutes } from "./servers.js";

/** What an export asks for. */
export interface AskedExport {
  readonly fromBlock: bigint;
  readonly toBlock: bigint;
  /** How often this range has been asked for, this time included. */
  readonly time: number;
}

/** A node before another one. What it lists and answers may be changed at any time. */
export interface HistoryProxy extends AsyncDisposable {
  readonly url: string;
  /** The first blocks of the exports that were asked for. */
  readonly asked: bigint[];
  /** How many exports were under way at once, at most. */
  readonly most: () => number;
  /** The bytes of archives that were sent. */
  readonly sent: () => number;
  answer: (messages: AsyncIterable<HttpBody>, asked: AskedExport) => AsyncIterable<HttpBody>;
  list: (segments: HistorySegment[]) => HistorySegment[];
}

/** Start a node that hands listings and exports on. */
export async function startHistoryProxy(target: string): Promise<HistoryProxy> {
  const inner = createClient(TradingDataService, createGrpcTransport({ baseUrl: target }));
  const asked: bigint[] = [];
  let [now, most, sent] = [0, 0, 0];
  const server = await serveRoutes((router) => {
    router.service(TradingDataService, {
      async listAllNetworkHistorySegments(request, { signal }) {
        const { segments } = await inner.listAllNetworkHistorySegments(request, { signal });
        return { segments: proxy.list(segments) };
      },
      async *exportNetworkHistory(request, { signal }) {
        const { fromBlock, toBlock } = request;
        asked.push(fromBlock);
        now += 1;
        most = Math.max(most, now);
        try {
          const time = asked.filter((block) => block === fromBlock).length;
          const messages = inner.exportNetworkHistory(request, { signal });
          for await (const message of proxy.answer(messages, { fromBlock, toBlock, time })) {
            sent += message.data.length;
            yield message;
          }
        } finally {
          now -= 1;
        }
      },
    });
  });
  const proxy: HistoryProxy = {
    url: server.url,
    asked,
    most: () => most,
    sent: () => sent,
    answer: (messages) => messages,
    list: (segments) => segments,
    [Symbol.asyncDispose]: () => server.close(),
  };
  return proxy;
}

/** Break an export off in the middle of its first chunk. */
export async function* cutShort(messages: AsyncIterable<HttpBody>, reason: unknown): AsyncGenerator<HttpBody> {
  for await (const message of messages) {
    yield { ...message, data: message.data.subarray(0, message.data.length / 2) };
    throw reason;
  }
}

/** Send other bytes in the place of those of an export. */
export async function* replaced(messages: AsyncIterable<HttpBody>, data: Uint8Array): AsyncGenerator<HttpBody> {
  for await (const message of messages) {
    yield { ...message, data };
    return;
  }
}
