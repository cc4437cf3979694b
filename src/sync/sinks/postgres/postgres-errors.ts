import { Code } from "@connectrpc/connect";
import { SinkError, TradewireError } from "../../../errors/index.js";
import { isError } from "../../../errors/node-errors.js";

/** What PostgreSQL says of an error, as far as it is used. */
export interface ServerError {
  /** SQLSTATE. */
  readonly code: string;
  readonly message: string;
  /** The server's function that raised it. */
  readonly routine?: string | undefined;
  /** Such as the line and the column of a COPY. */
  readonly where?: string | undefined;
}

const LATER =
  "Wait until PostgreSQL can be reached; a sync goes on by itself. What was not committed is fetched again.";
const AGAIN = "Try the same again at once: other transactions were in the way.";
const RIGHTS = "Check the user, the password and what the user may do.";

/** SQLSTATEs, or their classes, by the longest beginning that is listed: the code, and what to do. */
const STATES: readonly (readonly [begins: string, code: Code, advice: string])[] = [
  ["08", Code.Unavailable, LATER],
  ["57P", Code.Unavailable, LATER],
  ["53300", Code.Unavailable, LATER],
  ["25006", Code.Unavailable, "Wait until the server takes writes: it is a standby, or is told to be read-only."],
  ["25P0", Code.Unavailable, LATER],
  ["40", Code.Aborted, AGAIN],
  ["55P03", Code.Aborted, AGAIN],
  ["28", Code.Unauthenticated, RIGHTS],
  ["42501", Code.PermissionDenied, RIGHTS],
  ["3D000", Code.NotFound, "Create the database first, or correct its name."],
  ["53", Code.ResourceExhausted, "Give the server more of what it lacks, such as disk space."],
  ["57014", Code.DeadlineExceeded, "Look who cancels statements at the server."],
  ["22", Code.DataLoss, "Check whether the table was changed; tell who runs the node, or install a newer release."],
  ["23", Code.FailedPrecondition, "Look which constraint or column was added to the table, and remove it."],
  [
    "23505",
    Code.FailedPrecondition,
    "Delete the rows that have no line of the ledger, such as those of this _from_block, and sync again.",
  ],
  [
    "42P07",
    Code.FailedPrecondition,
    "Give another schema, or rename the existing object: tradewire sync did not create it.",
  ],
  [
    "42710",
    Code.FailedPrecondition,
    "Give another schema, or rename the existing object: tradewire sync did not create it.",
  ],
  ["42703", Code.FailedPrecondition, "A table was changed: run the sync again, which adds the columns that it lacks."],
  ["42P01", Code.FailedPrecondition, "A table was removed: run the sync again, which makes what is missing."],
];
const NO_PASSWORD =
  "Set PGPASSWORD, or write it to ~/.pgpass, which you alone may read (chmod 600), or put the whole URL into an environment variable and name it with --to-env.";
const CERTIFICATE =
  "Name the file of the authority that signed the server's certificate, as in ?sslmode=verify-full&sslrootcert=ca.pem or with PGSSLMODE and PGSSLROOTCERT, and call the server by a name that stands in its certificate.";
const NO_TLS = "Let the server take TLS, or ask for none (sslmode=disable).";
const OTHER = "Look into the server's log for more.";

/** The connection was ended on purpose, or by the other side. `pg` gives such errors no code. */
const LOST = /terminated|timeout|not queryable|ended by the other party|closed/iu;

/** Codes of Node's where a certificate is not trusted, or not the server's. */
const CERTIFICATE_CODES = /^(?:ERR_TLS_CERT|CERT_|DEPTH_ZERO_SELF|SELF_SIGNED_CERT|UNABLE_TO_(?:GET_ISSUER|VERIFY))/u;

/** What asked the node has failed. What it threw is to be thrown unchanged, whatever it is. */
export class FetchError extends Error {
  constructor(readonly reason: unknown) {
    super("the unit did not arrive whole");
  }
}

/**
 * Tell whether an error is one that PostgreSQL answered with.
 *
 * @param reason what was thrown
 * @returns whether it has an SQLSTATE
 */
export function isServerError(reason: unknown): reason is ServerError & Error {
  return (
    isError(reason) &&
    "severity" in reason &&
    "code" in reason &&
    typeof reason.code === "string" &&
    /^[0-9A-Z]{5}$/u.test(reason.code)
  );
}

/**
 * Tell whether rows were refused as there are others with the same keys.
 *
 * @param reason an error of the sink
 * @returns whether they were
 */
export function isDuplicate(reason: unknown): boolean {
  return reason instanceof SinkError && isServerError(reason.cause) && reason.cause.code === "23505";
}

/**
 * Make an error of the sink of what `pg` threw.
 *
 * @param reason what was thrown; errors of this library stay as they are
 * @param where the sink's name and what was done
 * @param secrets texts that are left out
 * @returns the error
 */
export function sinkError(reason: unknown, where: string, secrets: readonly string[]): TradewireError {
  if (reason instanceof TradewireError) {
    return reason;
  }
  const said = lacksPassword(reason)
    ? "the server asks for a password, and there is none"
    : isError(reason)
      ? reason.message || causes(reason)
      : String(reason);
  const clean = secrets.reduce((text, secret) => text.replaceAll(secret, "…"), said.replace(/\p{Cc}+/gu, " "));
  const [code, advice] = kindOf(reason);
  const cause = secrets.some((secret) => said.includes(secret)) ? undefined : reason;
  return new SinkError(`${where}: ${clean}`, { code, advice, ...(cause === undefined ? {} : { cause }) });
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
  const fitting = STATES.filter(([begins]) => code.startsWith(begins)).sort(([a], [b]) => b.length - a.length);
  const [, known, advice] = fitting[0] ?? ["", Code.FailedPrecondition, OTHER];
  return [known, advice];
}

/** `pg` finds out that it has no password when the server has asked for it. */
function lacksPassword(reason: unknown): boolean {
  return isError(reason) && /client password must be a/u.test(reason.message);
}

/** An error of several attempts to connect has no message of its own. */
function causes(reason: Error): string {
  return reason instanceof AggregateError
    ? reason.errors.map((error) => String(error?.message)).join("; ")
    : reason.name;
}
