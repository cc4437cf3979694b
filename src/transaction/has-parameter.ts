import type { DescService } from "@bufbuild/protobuf";
import { type CallOptions, Code, type Client as ConnectClient } from "@connectrpc/connect";
import { TradingDataService } from "../../gen/client/datanode/api/v2/trading_data_pb.js";

/** Makes a client of a service of the node. */
export type ServiceClients = <S extends DescService>(service: S) => ConnectClient<S>;

/** Codes of a node that does not have the parameter, or the method. */
const ABSENT: readonly unknown[] = [Code.NotFound, Code.Unimplemented];

/**
 * Tells whether a network has a parameter. Data node and core are asked, as an endpoint may have only one of them.
 *
 * @param clientOf makes clients of the node's services
 * @param key the parameter's key
 * @param options of each call
 * @returns whether one of them has it
 * @throws the error of a call that failed for another reason than that the node lacks the parameter or the method
 */
export async function hasParameter(clientOf: ServiceClients, key: string, options: CallOptions): Promise<boolean> {
  const stored = await clientOf(TradingDataService).getNetworkParameter({ key }, options).catch(undefinedIfAbsent);
  if (stored !== undefined) {
    return true;
  }
  const { CoreStateService } = await import("../../gen/vega/api/v1/corestate_pb.js");
  const { listNetworkParameters } = clientOf(CoreStateService);
  const listed = await listNetworkParameters({ networkParameterKey: key }, options).catch(undefinedIfAbsent);
  return listed?.networkParameters.some((parameter) => parameter.key === key) ?? false;
}

function undefinedIfAbsent(reason: unknown): undefined {
  if (reason instanceof Error && "code" in reason && ABSENT.includes(reason.code)) {
    return undefined;
  }
  throw reason;
}
