import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { ErrorDetailSchema } from "../../gen/vega/vega_pb.js";

/** The node's own codes of what can be wrong with a request, as its error details carry them. */
const DETAIL_CODE = { table: 20_001, range: 20_002, pagination: 20_003, filter: 20_004, identifier: 20_005 } as const;

/** The error of a request that cannot be served as it is, with the node's error detail. */
export function invalid(what: keyof typeof DETAIL_CODE, reason: string): ConnectError {
  const value = create(ErrorDetailSchema, { code: DETAIL_CODE[what], message: `invalid ${what}`, inner: reason });
  return new ConnectError(reason, Code.InvalidArgument, undefined, [{ desc: ErrorDetailSchema, value }]);
}
