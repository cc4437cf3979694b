import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { ErrorDetailSchema } from "../../gen/vega/vega_pb.js";

/** The codes of the local node's error details, by the part of the request that is wrong. */
const DETAIL_CODE = { table: 20_001, range: 20_002, pagination: 20_003, filter: 20_004, identifier: 20_005 } as const;

/**
 * Create the error for an invalid request, with the node's error detail (specification, 7).
 *
 * @param what the part of the request that is wrong
 * @param reason the error's message
 * @returns an error with the code `InvalidArgument`
 */
export function invalid(what: keyof typeof DETAIL_CODE, reason: string): ConnectError {
  const value = create(ErrorDetailSchema, { code: DETAIL_CODE[what], message: `invalid ${what}`, inner: reason });
  return new ConnectError(reason, Code.InvalidArgument, undefined, [{ desc: ErrorDetailSchema, value }]);
}
