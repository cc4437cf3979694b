import { Code } from "../../../base/errors/code.js";
import { SinkError, TradewireError } from "../../../base/errors/index.js";
import { isError } from "../../../base/errors/node-errors.js";

/** The fields of an error of PostgreSQL that are used. */
export interface ServerError {
  /** SQLSTATE. */
  readonly code: string;
  readonly message: string;
  /** The server's function that raised it. */
  readonly routine?: string | undefined;
  /** The context, such as the line and the column of a COPY. */
  readonly where?: string | undefined;
}

const LATER =
  "Wait until PostgreSQL is reachable. The sync then continues automatically, and fetches uncommitted units again.";
const AGAIN = "Retry immediately: other transactions conflicted with this one.";
const NO_DATABASE = "Create the database first, or correct its name.";
const RIGHTS = "Check the user, the password and the user's privileges.";

/** The code and the advice for each SQLSTATE, or for its class. The longest prefix applies. */
const STATES: readonly (readonly [prefix: string, code: Code, advice: string])[] = [
  ["08", Code.Unavailable, LATER],
  ["57P", Code.Unavailable, LATER],
  ["53300", Code.Unavailable, LATER],
  ["25006", Code.Unavailable, "Wait until the server accepts writes: it is a standby or read-only."],
  ["25P0", Code.Unavailable, LATER],
  ["40", Code.Aborted, AGAIN],
  ["55P03", Code.Aborted, AGAIN],
  ["28", Code.Unauthenticated, RIGHTS],
  ["42501", Code.PermissionDenied, RIGHTS],
  ["3D000", Code.NotFound, NO_DATABASE],
  ["53", Code.ResourceExhausted, "Free or add the resource that the server lacks, such as disk space."],
  ["57014", Code.DeadlineExceeded, "Check which user or setting cancels statements on the server."],
  [
    "22",
    Code.DataLoss,
    "Check whether the table was changed. Otherwise install a newer release, or report this to the operator of the node.",
  ],
  ["23", Code.FailedPrecondition, "Find the constraint or column that was added to the table, and remove it."],
  [
    "23505",
    Code.FailedPrecondition,
    "Delete the rows that have no entry in the ledger, such as those of this _from_block, and sync again.",
  ],
  [
    "42P07",
    Code.FailedPrecondition,
    "Use another schema, or rename the existing object: tradewire sync did not create it.",
  ],
  [
    "42710",
    Code.FailedPrecondition,
    "Use another schema, or rename the existing object: tradewire sync did not create it.",
  ],
  ["42703", Code.FailedPrecondition, "A table was changed: run the sync again, which adds the missing columns."],
  ["42P01", Code.FailedPrecondition, "A table was removed: run the sync again, which creates missing tables."],
];
const NO_PASSWORD =
  "Set PGPASSWORD, write the password to ~/.pgpass (chmod 600), or put the URL into an environment variable and use --to-env.";
const CERTIFICATE =
  "Set the certificate authority, as in ?sslmode=verify-full&sslrootcert=ca.pem or with PGSSLMODE and PGSSLROOTCERT, and use a hostname that is in the server's certificate.";
const NO_TLS = "Enable TLS on the server, or connect without it (sslmode=disable).";
const OTHER = "See the server's log for details.";

/** Messages of a connection that was closed by either side. `pg` sets no code for such errors. */
const LOST = /terminated|timeout|not queryable|ended by the other party|closed/iu;

/** Node's error codes for a certificate that is not trusted, or does not match the server. */
const CERTIFICATE_CODES = /^(?:ERR_TLS_CERT|CERT_|DEPTH_ZERO_SELF|SELF_SIGNED_CERT|UNABLE_TO_(?:GET_ISSUER|VERIFY))/u;

/** Wraps an error of the node's response, so that it can be rethrown unchanged. */
export class FetchError extends Error {
  constructor(readonly reason: unknown) {
    super("the unit did not arrive completely");
  }
}

export function isServerError(reason: unknown): reason is ServerError & Error {
  return (
    isError(reason) &&
    "severity" in reason &&
    "code" in reason &&
    typeof reason.code === "string" &&
    /^[0-9A-Z]{5}$/u.test(reason.code)
  );
}

/** Reports whether rows were rejected because others with the same keys exist. */
export function isDuplicate(reason: unknown): boolean {
  return reason instanceof SinkError && isServerError(reason.cause) && reason.cause.code === "23505";
}

/** The advice for those who query a database, in place of that for a sync. */
const QUERY_ADVICE: ReadonlyMap<string, string> = new Map([
  [LATER, "Wait until PostgreSQL is reachable, and run the statement again."],
  [NO_PASSWORD, NO_PASSWORD.replace("--to-env", "--from-env")],
  [NO_DATABASE, "Correct the name of the database."],
]);

/** Converts an error of `pg` to an error of a query. */
export function queryError(reason: unknown, where: string, secrets: readonly string[]): TradewireError {
  return sinkError(reason, where, secrets, (advice) => QUERY_ADVICE.get(advice) ?? advice);
}

/** Converts an error of `pg` to an error of the sink. */
export function sinkError(
  reason: unknown,
  where: string,
  secrets: readonly string[],
  adviceOf = (advice: string) => advice,
): TradewireError {
  if (reason instanceof TradewireError) {
    return reason;
  }
  const said = lacksPassword(reason)
    ? "the server requires a password, and none is set"
    : isError(reason)
      ? reason.message || causes(reason)
      : String(reason);
  const clean = secrets.reduce((text, secret) => text.replaceAll(secret, "…"), said.replace(/\p{Cc}+/gu, " "));
  const [code, advice] = kindOf(reason);
  const cause = secrets.some((secret) => said.includes(secret)) ? undefined : reason;
  return new SinkError(`${where}: ${clean}`, {
    code,
    advice: adviceOf(advice),
    ...(cause === undefined ? {} : { cause }),
  });
}

function kindOf(reason: unknown): readonly [Code, string] {
  if (!isServerError(reason)) {
    if (lacksPassword(reason)) {
      return [Code.Unauthenticated, NO_PASSWORD];
    }
    if (isError(reason) && "code" in reason && CERTIFICATE_CODES.test(String(reason.code))) {
      return [Code.Unauthenticated, CERTIFICATE];
    }
    if (isError(reason) && reason.message.includes("does not support SSL")) {
      return [Code.FailedPrecondition, NO_TLS];
    }
    const lost = isError(reason) && ("errno" in reason || "errors" in reason || LOST.test(reason.message));
    return lost ? [Code.Unavailable, LATER] : [Code.Unknown, OTHER];
  }
  const { code } = reason;
  const fitting = STATES.filter(([prefix]) => code.startsWith(prefix)).sort(([a], [b]) => b.length - a.length);
  const [, known, advice] = fitting[0] ?? ["", Code.FailedPrecondition, OTHER];
  return [known, advice];
}

/** Reports whether `pg` failed because it has no password, which it detects only when the server requests one. */
function lacksPassword(reason: unknown): boolean {
  return isError(reason) && /client password must be a/u.test(reason.message);
}

/** Returns the text of an error without a message, such as that of several failed attempts to connect. */
function causes(reason: Error): string {
  return reason instanceof AggregateError
    ? reason.errors.map((error) => String(error?.message)).join("; ")
    : reason.name;
}
