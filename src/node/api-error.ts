import { create } from "@bufbuild/protobuf";
import { ConnectError, type Interceptor } from "@connectrpc/connect";
import { ErrorDetailSchema } from "../../gen/vega/vega_pb.js";
import { Code } from "../base/errors/code.js";

/** The number of an error whose text is not in {@link NUMBERS}. */
const NOT_MAPPED = 10_000;

/** The network's numbers of the error texts that the local node has (`errorMap` in datanode/api/errors.go). */
const NUMBERS: Readonly<Record<string, number>> = {
  "empty or missing market ID": 10_003,
  "empty or missing party ID": 10_006,
  "stream closed": 10_008,
  "internal stream failure": 10_010,
  "missing orderID parameter": 10_012,
  "missing party id": 10_014,
  "malformed request": 10_015,
  "missing asset ID": 10_017,
  "missing proposal ID or reference": 10_022,
  "missing proposal id and party id": 10_023,
  "invalid order price": 10_027,
  "invalid pagination": 10_028,
  "invalid filter": 10_029,
  "candle id is a required parameter": 10_030,
  "missing oracle spec ID": 10_031,
  "missing node id": 10_034,
  "invalid asset ID": 10_038,
  "failed to get order versions": 20_005,
  "order not found": 20_006,
  "failed to get market for ID": 30_002,
  "failed to get market data": 30_004,
  "failed to get all markets paged": 30_005,
  "failed to get market data history": 30_006,
  "failed to get trades for market": 40_001,
  "failed to list trades": 40_005,
  "failed to get parties": 50_001,
  "failed to get party for ID": 50_002,
  "failed to get candle data": 60_001,
  "failed to subscribe to candle data": 60_002,
  "failed to get margin levels": 70_001,
  "missing withdrawal ID": 80_003,
  "missing deposit ID": 80_004,
  "failed to get accounts": 80_006,
  "failed to send accounts snapshot": 80_008,
  "failed to get balances": 90_004,
  "failed to get network parameters": 100_002,
  "failed to get nodes": 110_001,
  "failed to get withdrawal": 150_001,
  "failed to get positions for party": 160_001,
  "failed to send positions snapshot": 160_002,
  "failed to get proposal": 170_001,
  "failed to get proposals": 170_002,
  "failed to get votes": 170_003,
  "failed retrieve data for oracle spec": 190_001,
  "failed retrieve data for oracle specs": 190_002,
  "failed to get assets": 200_001,
  "failed to get asset for ID": 200_002,
  "failed to get deposit": 210_001,
  "failed to get transfer": 220_001,
  "failed to get most recent history segment": 240_002,
  "failed to get epoch": 250_001,
  "failed to query ledger entries": 260_001,
  "failed to get checkpoint": 290_001,
  "failed to get stake linking": 300_001,
  "failed to get risk factor": 310_001,
  "failed to list core snapshots": 320_001,
};

/** The network's text for a record that does not exist. */
export const NO_RESOURCE = "no resource corresponding to this id";

/**
 * Creates an error as the data node's API does: the message names only the code, and a `vega.ErrorDetail` holds the
 * reason (`apiError` in datanode/api/errors.go).
 */
export function apiError(code: Code, message: string, inner = ""): ConnectError {
  const value = create(ErrorDetailSchema, { code: NUMBERS[message] ?? NOT_MAPPED, message, inner });
  return new ConnectError(`${Code[code]} error`, code, undefined, [{ desc: ErrorDetailSchema, value }]);
}

/**
 * Ends streams whose deadline has passed with the network's error, never as if they were complete (`observe` in
 * datanode/api/observe.go).
 */
export const deadlineInterceptor: Interceptor = (next) => async (request) => {
  const response = await next(request);
  return response.stream ? { ...response, message: untilDeadline(response.message, request.signal) } : response;
};

async function* untilDeadline<T>(messages: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T, void> {
  yield* messages;
  const reason: unknown = signal.reason;
  if (reason instanceof ConnectError && reason.code === Code.DeadlineExceeded) {
    throw apiError(Code.Internal, "internal stream failure", "context deadline exceeded");
  }
}

export function invalidArgument(message: string, inner?: string): ConnectError {
  return apiError(Code.InvalidArgument, message, inner);
}

/**
 * Returns a record, or throws the network's error if it does not exist.
 *
 * @throws ConnectError with `NotFound` if the record is `undefined`
 */
export function requireFound<T>(value: T | undefined, message: string, inner = NO_RESOURCE): T {
  if (value === undefined) {
    throw apiError(Code.NotFound, message, inner);
  }
  return value;
}
