// What the server answers: an archive in chunks, one network parameter, pages of stop orders, or a stream of market data.
import { create, toBinary, toJson } from "@bufbuild/protobuf";
import {
  GetNetworkParameterResponseSchema,
  ListStopOrdersResponseSchema,
  ObserveMarketsDataResponseSchema,
} from "../../dist/gen/datanode/api/v2/trading_data_pb.js";
import { HttpBodySchema } from "../../dist/gen/google/api/httpbody_pb.js";
import { createArchive } from "./archive.mjs";
import { chunk, chunkedHead, wholeAnswer } from "./http1.mjs";
import { OPEN, prepare } from "./http2.mjs";

const ZIP = "application/zip";
const PAGE_RECORDS = 1000;

/** Prepare an answer for one protocol. */
export function createContent({ content, protocol, ...options }) {
  return { archive, parameter, stopOrders, marketData }[content](protocol, options);
}

function archive(protocol, { method, csvBytes, chunkBytes }) {
  const { head, block, times, tail, ...sizes } = createArchive({ method, csvBytes });
  const pack = {
    grpc: (data) => prepare(Buffer.from(toBinary(HttpBodySchema, create(HttpBodySchema, { contentType: ZIP, data })))),
    rest: chunk,
    tcp: (bytes) => bytes,
  }[protocol];
  const pieces = [];
  for (let at = 0; at < block.length; at += chunkBytes) {
    pieces.push(pack(block.subarray(at, at + chunkBytes)));
  }
  const first = [...(protocol === "rest" ? [chunkedHead(ZIP)] : []), pack(head)];
  const last = [pack(tail), ...(protocol === "rest" ? [chunk(Buffer.alloc(0))] : [])];
  return {
    ...sizes,
    *answer() {
      yield* first;
      for (let time = 0; time < times; time += 1) {
        yield* pieces;
      }
      yield* last;
    },
  };
}

function parameter(protocol) {
  const key = "snapshot.interval.length";
  const message = create(GetNetworkParameterResponseSchema, { networkParameter: { key, value: "1000" } });
  const answer = [encode(protocol, GetNetworkParameterResponseSchema, message)];
  return { answer: () => answer };
}

/** A stream that stays open behind its first message. */
function marketData(protocol) {
  const schema = ObserveMarketsDataResponseSchema;
  const message = create(schema, { marketData: [{ market: "a".repeat(64), markPrice: "100000" }] });
  const answer =
    protocol === "grpc"
      ? [prepare(Buffer.from(toBinary(schema, message))), OPEN]
      : [
          chunkedHead("application/json"),
          chunk(Buffer.from(`${JSON.stringify({ result: toJson(schema, message, { alwaysEmitImplicit: true }) })}\n`)),
        ];
  return { answer: () => answer };
}

/** Pages whose cursors tell which page follows. */
function stopOrders(protocol, { pages }) {
  const answers = Array.from({ length: pages }, (_, index) => [
    encode(protocol, ListStopOrdersResponseSchema, create(ListStopOrdersResponseSchema, pageOf(index, pages))),
  ]);
  return {
    answer: (request) => answers[Number(/page-(\d+)\./.exec(request.toString("latin1"))?.[1] ?? 0)],
  };
}

/** Make the message of one page of stop orders. */
export function pageOf(index, pages) {
  const hex = (value, digits = 64) => value.toString(16).padStart(digits, "5");
  const edges = Array.from({ length: PAGE_RECORDS }, (_, at) => {
    const id = index * PAGE_RECORDS + at;
    const order = {
      marketId: hex(id % 7),
      price: String(100_000 + id),
      size: BigInt(id % 1000),
      reference: `order ${id}`,
    };
    return {
      cursor: at + 1 === PAGE_RECORDS ? `page-${index + 1}.` : `row-${id}.`,
      node: {
        submission: { ...order, side: 1, timeInForce: 1, type: 1 },
        stopOrder: {
          id: hex(id),
          orderId: hex(id + 1),
          triggerDirection: 1,
          status: 2,
          marketId: order.marketId,
          partyId: hex(id % 11),
          createdAt: 1_700_000_000_000_000_000n + BigInt(id),
          trigger: { case: "price", value: String(90_000 + id) },
        },
      },
    };
  });
  const pageInfo = {
    hasNextPage: index + 1 < pages,
    hasPreviousPage: index > 0,
    startCursor: edges[0].cursor,
    endCursor: edges[PAGE_RECORDS - 1].cursor,
  };
  return { orders: { edges, pageInfo } };
}

function encode(protocol, schema, message) {
  return protocol === "grpc"
    ? prepare(Buffer.from(toBinary(schema, message)))
    : wholeAnswer("application/json", JSON.stringify(toJson(schema, message, { alwaysEmitImplicit: true })));
}
