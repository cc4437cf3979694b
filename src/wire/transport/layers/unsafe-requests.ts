import { create, type DescMessage, isMessage, type MessageShape } from "@bufbuild/protobuf";
import { ConnectError, type Transport, type UnaryResponse } from "@connectrpc/connect";
import {
  ExportNetworkHistoryRequestSchema,
  GetERC20ListAssetBundleRequestSchema,
  TradingDataService,
} from "../../../../gen/client/datanode/api/v2/trading_data_pb.js";
import { Code } from "../../../base/errors/code.js";
import { RequestError, TradewireError } from "../../../base/errors/index.js";
import { monotonicMs } from "../../../base/runtime/index.js";
import { asLimit, beforeSendKey, withOwnContextValue } from "../call-context.js";
import { type AnyCall, layered, type UnaryCall } from "../layered.js";
import { streamOf } from "../message-streams.js";
import { methodName } from "../method.js";
import type { ClosableTransport } from "../transport-types.js";

interface Clearance {
  /** Returns whether it still may; otherwise it is checked again. */
  isValid(): boolean;
}

/** Checks whether a request must not be sent. */
export type RequestCheck = (
  request: unknown,
  call: AnyCall,
  transport: Transport,
) => Promise<CheckResult> | CheckResult;

type CheckResult = TradewireError | Clearance | undefined;

export function withRequestChecks(
  transport: ClosableTransport,
  checks: ReadonlyMap<string, RequestCheck>,
): ClosableTransport {
  async function requireSafe(check: RequestCheck, request: unknown, call: AnyCall): Promise<Clearance | undefined> {
    const result = await check(request, call, transport);
    if (result instanceof TradewireError) {
      throw new ConnectError(result.summary, result.code, undefined, undefined, result);
    }
    return result;
  }

  /** Makes a call once its request is safe, and again if it waited so long that its check is outdated. */
  async function sendChecked<I extends DescMessage, O extends DescMessage>(
    check: RequestCheck,
    call: UnaryCall<I, O>,
    next: (call: UnaryCall<I, O>) => Promise<UnaryResponse<I, O>>,
  ): Promise<UnaryResponse<I, O>> {
    const { method, signal, timeoutMs, message, contextValues } = call;
    const request = create(method.input, message);
    const startedAt = monotonicMs();
    for (;;) {
      const isLimited = timeoutMs !== undefined && timeoutMs > 0;
      const leftMs = isLimited ? asLimit(timeoutMs - (monotonicMs() - startedAt)) : timeoutMs;
      const clearance = await requireSafe(check, request, { ...call, timeoutMs: leftMs });
      let isOutdated = false;
      const values = withOwnContextValue(contextValues, beforeSendKey, () => {
        if (clearance?.isValid() === false) {
          isOutdated = true;
          return outdatedError();
        }
        return undefined;
      });
      try {
        return await next({ ...call, timeoutMs: leftMs, contextValues: values });
      } catch (reason) {
        if (!isOutdated || signal?.aborted === true) {
          throw reason;
        }
      }
    }
  }

  return layered(transport, {
    unary(call, next) {
      const check = checks.get(methodName(call.method));
      return check === undefined ? next(call) : sendChecked(check, call, next);
    },

    async stream(call, next) {
      const { method, message } = call;
      const check = checks.get(methodName(method));
      if (check === undefined) {
        return next(call);
      }
      const requests: MessageShape<typeof method.input>[] = [];
      for await (const init of message) {
        const request = create(method.input, init);
        await requireSafe(check, request, call);
        requests.push(request);
      }
      return next({ ...call, message: streamOf(requests) });
    },
  });
}

/** The failure of an attempt that was not sent, as its check was too long ago. It is made again. */
function outdatedError(): ConnectError {
  const cause = new RequestError("the request waited too long and must be checked again", {
    advice: "Nothing was sent.",
  });
  return new ConnectError(cause.summary, cause.code, undefined, undefined, cause);
}

const { exportNetworkHistory, getAsset, getERC20ListAssetBundle } = TradingDataService.method;

/**
 * The checks for requests that crash a data node of v0.78.0. They are read-only, so anyone may send them to any node.
 */
export const crashChecks: ReadonlyMap<string, RequestCheck> = new Map<string, RequestCheck>([
  [methodName(exportNetworkHistory), checkRange],
  [methodName(getERC20ListAssetBundle), checkAssetBundle],
]);

/** The node's codes for an asset that it does not have. It answers the request for the bundle in the same way. */
const UNKNOWN_ASSET_CODES: readonly Code[] = [Code.NotFound, Code.InvalidArgument];

function checkRange(request: unknown): RequestError | undefined {
  if (!isMessage(request, ExportNetworkHistoryRequestSchema) || request.fromBlock <= request.toBlock) {
    return undefined;
  }
  const { fromBlock, toBlock } = request;
  return new RequestError(
    (nameOf) => `${fromBlock} is after ${nameOf("toBlock")} ${toBlock}, which crashes a data node`,
    {
      option: "fromBlock",
      advice: (nameOf) =>
        `Set ${nameOf("fromBlock")} to the first block, and ${nameOf("toBlock")} to the last. Nothing was sent.`,
    },
  );
}

async function checkAssetBundle(
  request: unknown,
  call: AnyCall,
  transport: Transport,
): Promise<RequestError | undefined> {
  if (!isMessage(request, GetERC20ListAssetBundleRequestSchema)) {
    return undefined;
  }
  const { assetId } = request;
  const { signal, timeoutMs, header, contextValues } = call;
  const response = await transport
    .unary(getAsset, signal, timeoutMs, header, { assetId }, contextValues)
    .catch((reason: unknown) => {
      if (reason instanceof ConnectError && UNKNOWN_ASSET_CODES.includes(reason.code)) {
        return undefined;
      }
      throw reason;
    });
  return response?.message.asset?.details?.source.case === "builtinAsset"
    ? new RequestError(`the asset ${assetId} is built in, and a request for its bundle crashes a data node`, {
        advice: "Only Ethereum assets have a bundle. Nothing was sent.",
      })
    : undefined;
}
