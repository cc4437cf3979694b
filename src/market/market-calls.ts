import type { DescService } from "@bufbuild/protobuf";
import type { Client as ConnectClient } from "@connectrpc/connect";
import type { LiveCalls } from "../live/live-call.js";

/** How the state of markets and accounts is read from the node. */
export interface MarketCalls extends LiveCalls {
  /** Creates a client of a service, whose methods throw the library's errors. */
  readonly service: <S extends DescService>(service: S) => ConnectClient<S>;
}
