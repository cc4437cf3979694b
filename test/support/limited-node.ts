import { createServer, type Server } from "node:http";
import { createServer as createHttp2Server, type Http2Server, type ServerHttp2Session } from "node:http2";
import type { AddressInfo } from "node:net";
import { type ConnectRouter, createRouterTransport } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import type { RateLimit } from "tradewire/devnode";
import { TradingDataService } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { CoreService } from "tradewire/gen/vega/api/v1/core_pb.js";
import { createGateway } from "../../src/node/gateway.js";
import { createRateLimiter } from "../../src/node/rate-limit.js";

/** A node that limits the calls of an address, and answers `lastBlockHeight` alone. */
export interface LimitedNode extends AsyncDisposable {
  readonly grpcUrl: string;
  readonly restUrl: string;
  /** The calls that the node has answered. */
  answered(): number;
}

/** Start a node that limits calls as the local node does. */
export async function serveLimited(rateLimit: RateLimit): Promise<LimitedNode> {
  let answered = 0;
  const routes = (router: ConnectRouter) => {
    router.service(TradingDataService, {});
    router.service(CoreService, {
      lastBlockHeight() {
        answered += 1;
        return { height: BigInt(answered) };
      },
    });
  };
  const limiter = createRateLimiter(rateLimit);
  const grpc = createHttp2Server(
    connectNodeAdapter({ routes, interceptors: [limiter.interceptor], contextValues: limiter.contextValues }),
  );
  const sessions = new Set<ServerHttp2Session>();
  grpc.on("session", (session) => sessions.add(session));
  const rest = createServer(limiter.limited(createGateway(createRouterTransport(routes), [CoreService])));
  return {
    grpcUrl: await listen(grpc),
    restUrl: await listen(rest),
    answered: () => answered,
    async [Symbol.asyncDispose]() {
      for (const session of sessions) {
        session.destroy();
      }
      rest.closeAllConnections();
      await Promise.all([grpc, rest].map((server) => new Promise((resolve) => server.close(resolve))));
    },
  };
}

async function listen(server: Server | Http2Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return `http://127.0.0.1:${port}`;
}
