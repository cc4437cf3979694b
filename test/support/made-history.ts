import { create } from "@bufbuild/protobuf";
import type { HistorySegment } from "tradewire";
import type { SyncClient } from "tradewire/sync";
import { HistorySegmentSchema } from "../../gen/client/datanode/api/v2/trading_data_pb.js";

/** Make up segments of 10 blocks, with identifiers that count. */
export function segments(first: number, last: number, more: Partial<Record<number, Partial<HistorySegment>>> = {}) {
  return Array.from({ length: last - first + 1 }, (_, index) => {
    const number = first + index;
    return create(HistorySegmentSchema, {
      fromHeight: BigInt(number * 10 - 9),
      toHeight: BigInt(number * 10),
      historySegmentId: `id-${number}`,
      previousHistorySegmentId: number === 1 ? "" : `id-${number - 1}`,
      databaseVersion: 116n,
      chainId: "chain-1",
      ...more[number],
    });
  });
}

/** Make the client of a node that lists a history, and exports nothing. */
export function listingClient(name: string | undefined, listed: HistorySegment[] | Error): SyncClient {
  return {
    name,
    exportNetworkHistory: () => {
      throw new Error("nothing is exported");
    },
    listSegments: async () => {
      if (listed instanceof Error) {
        throw listed;
      }
      return listed;
    },
  };
}
