import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type Client, createClient, createRouterTransport } from "@connectrpc/connect";
import { TradingDataService } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { MarketDepthSchema } from "tradewire/gen/vega/vega_pb.js";
import { blockAt, happeningsOf } from "../living-world.js";
import {
  createStreams,
  createWorld,
  dataMethods,
  type Event,
  type OpenStreams,
  type WorldHistory,
  type WorldStore,
} from "./inside.js";

/** The data service on a small world. */
export interface DataService {
  readonly data: Client<typeof TradingDataService>;
  readonly living: WorldStore;
  readonly streams: OpenStreams;
  /** The order books, by market. */
  readonly books: Map<string, MessageInitShape<typeof MarketDepthSchema>>;
  /** Make the next block, in which something happens. */
  happen(...events: Event[]): void;
}

/** Serve the data of a world in memory. */
export function serveData(start: WorldHistory): DataService {
  const living = createWorld(start);
  const streams = createStreams();
  const books: DataService["books"] = new Map();
  const engine = {
    depth(marketId: string, maxDepth?: number) {
      const { buy = [], sell = [], sequenceNumber = 0n } = books.get(marketId) ?? {};
      const sides = { buy: buy.slice(0, maxDepth), sell: sell.slice(0, maxDepth) };
      return create(MarketDepthSchema, { marketId, ...sides, sequenceNumber });
    },
  };
  const transport = createRouterTransport(({ service }) => {
    service(
      TradingDataService,
      dataMethods({
        world: living.world,
        committed: living.world,
        uncommitted: () => undefined,
        engine,
        streams,
        chainId: "test-chain",
        profile: "deployed",
      }),
    );
  });
  return {
    data: createClient(TradingDataService, transport),
    living,
    streams,
    books,
    happen(...events) {
      const block = blockAt(living.world.block.height + 1n);
      const happenings = happeningsOf(block.height, events);
      living.begin(block);
      for (const happening of happenings) {
        living.apply(happening);
      }
      streams.publish(block, happenings);
    },
  };
}
