import { Code } from "tradewire";

/** The HTTP statuses with which grpc-gateway answers failures: `HTTPStatusFromCode` in its `runtime/errors.go`. */
const STATUSES: Readonly<Partial<Record<number, number>>> = {
  [Code.Canceled]: 499,
  [Code.Unknown]: 500,
  [Code.InvalidArgument]: 400,
  [Code.DeadlineExceeded]: 504,
  [Code.NotFound]: 404,
  [Code.AlreadyExists]: 409,
  [Code.PermissionDenied]: 403,
  [Code.ResourceExhausted]: 429,
  [Code.FailedPrecondition]: 400,
  [Code.Aborted]: 409,
  [Code.OutOfRange]: 400,
  [Code.Unimplemented]: 501,
  [Code.Internal]: 500,
  [Code.Unavailable]: 503,
  [Code.DataLoss]: 500,
  [Code.Unauthenticated]: 401,
};

/** The HTTP status of a gateway's answer. */
export function httpStatusOf(code: number): number {
  return STATUSES[code] ?? 500;
}
