import { isMessage } from "@bufbuild/protobuf";
import { Code, ConnectError, type Transport } from "@connectrpc/connect";
import {
  ExportNetworkHistoryRequestSchema,
  GetERC20ListAssetBundleRequestSchema,
  TradingDataService,
} from "../../gen/client/datanode/api/v2/trading_data_pb.js";
import { RequestError } from "../errors/index.js";
import type { Refusal, UnsentCall } from "./layers/refusing.js";
import { methodName } from "./method-name.js";

const { exportNetworkHistory, getAsset, getERC20ListAssetBundle } = TradingDataService.method;

/**
 * The requests that stop a data node of v0.78.0: it fails while it answers them, and ends. They only read, so anyone may
 * send them to any node.
 */
export const fatalRequests: ReadonlyMap<string, Refusal> = new Map<string, Refusal>([
  [methodName(exportNetworkHistory), reversedRange],
  [methodName(getERC20ListAssetBundle), bundleOfBuiltinAsset],
]);

/** What the node answers for an asset that it does not have. It answers the call for the bundle in the same way. */
const ANSWERED_SAFELY: readonly Code[] = [Code.NotFound, Code.InvalidArgument];

function reversedRange(request: unknown): RequestError | undefined {
  if (!isMessage(request, ExportNetworkHistoryRequestSchema) || request.fromBlock <= request.toBlock) {
    return undefined;
  }
  const { fromBlock, toBlock } = request;
  return new RequestError(`fromBlock is ${fromBlock}, above toBlock, ${toBlock}, which stops a data node`, {
    advice: "Give the first block as fromBlock and the last as toBlock; nothing was sent.",
  });
}

async function bundleOfBuiltinAsset(
  request: unknown,
  call: UnsentCall,
  transport: Transport,
): Promise<RequestError | undefined> {
  if (!isMessage(request, GetERC20ListAssetBundleRequestSchema)) {
    return undefined;
  }
  const { assetId } = request;
  const { signal, timeoutMs, header, contextValues } = call;
  const answer = await transport
    .unary(getAsset, signal, timeoutMs, header, { assetId }, contextValues)
    .catch((reason: unknown) => {
      if (reason instanceof ConnectError && ANSWERED_SAFELY.includes(reason.code)) {
        return undefined;
      }
      throw reason;
    });
  return answer?.message.asset?.details?.source.case === "builtinAsset"
    ? new RequestError(`the asset ${assetId} is built in, and its bundle stops a data node`, {
        advice: "Only assets of Ethereum have such a bundle; the request was not sent.",
      })
    : undefined;
}
