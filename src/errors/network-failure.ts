/** A failure of the network during a call. */
export interface NetworkFailure {
  /** The failure, in the same words for every library that reports it. */
  readonly summary: string;
  /** Whether there was a connection. Without one, nothing was sent. */
  readonly connected: boolean;
  /** The thing that the user can check. */
  readonly advice: string;
}

const CHECK_NODE = "Check that the node is running, that the URL is right, and the network between.";
const CHECK_TRANSPORT = "Check that the URL is of this transport: gRPC and REST have ports of their own.";
const CHECK_TLS = "Check the certificate, tls.caFile and tls.serverName, and that the URL's scheme is right.";
const TRY_AGAIN = "Try again; if it persists, check the node and the network between.";

const NOT_MADE: ReadonlyMap<string, string> = new Map([
  ["ECONNREFUSED", "the connection was refused"],
  ["ENOTFOUND", "the host's name could not be resolved"],
  ["EAI_AGAIN", "the host's name could not be resolved"],
  ["EHOSTUNREACH", "the host cannot be reached"],
  ["ENETUNREACH", "the host cannot be reached"],
  ["EADDRNOTAVAIL", "the host cannot be reached"],
  ["ETIMEDOUT", "no connection was made in time"],
]);

const NOT_TRUSTED: ReadonlyMap<string, string> = new Map([
  ["CERT_HAS_EXPIRED", "the server's certificate has expired"],
  ["CERT_NOT_YET_VALID", "the server's certificate is not valid yet"],
  ["ERR_TLS_CERT_ALTNAME_INVALID", "the server's certificate is for another name"],
  ["DEPTH_ZERO_SELF_SIGNED_CERT", "the server's certificate is not trusted"],
  ["SELF_SIGNED_CERT_IN_CHAIN", "the server's certificate is not trusted"],
  ["UNABLE_TO_GET_ISSUER_CERT", "the server's certificate is not trusted"],
  ["UNABLE_TO_GET_ISSUER_CERT_LOCALLY", "the server's certificate is not trusted"],
  ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", "the server's certificate is not trusted"],
]);

const LOST = /^(ECONNRESET|EPIPE|ECONNABORTED|ERR_STREAM_|ERR_HTTP2_)/;

/**
 * Find the failure of the network behind an error, by the codes of Node's modules and of the libraries over them.
 *
 * @param reason the error that was thrown; its causes are searched too
 * @returns the failure, or undefined where no code is one of the network's
 */
export function networkFailure(reason: unknown): NetworkFailure | undefined {
  const codes = errorCodes(reason);
  const first = <T>(find: (code: string) => T | undefined) => codes.map(find).find((found) => found !== undefined);
  const notTrusted = first((code) => NOT_TRUSTED.get(code));
  if (notTrusted !== undefined) {
    return { summary: notTrusted, connected: false, advice: CHECK_TLS };
  }
  if (codes.some((code) => /^(EPROTO$|ERR_SSL_|ERR_TLS_|CERT_)/.test(code))) {
    return { summary: "no secure connection could be made (TLS)", connected: false, advice: CHECK_TLS };
  }
  const notMade = first((code) => NOT_MADE.get(code));
  if (notMade !== undefined) {
    return { summary: notMade, connected: false, advice: CHECK_NODE };
  }
  if (codes.some((code) => code.startsWith("HPE_") || code === "ERR_HTTP2_ERROR")) {
    const summary = "the server does not speak the protocol of this transport";
    return { summary, connected: true, advice: CHECK_TRANSPORT };
  }
  return codes.some((code) => LOST.test(code)) ? connectionLost() : undefined;
}

/**
 * The failure of a connection that was made and then lost.
 *
 * @returns the failure
 */
export function connectionLost(): NetworkFailure {
  return { summary: "the connection was lost", connected: true, advice: TRY_AGAIN };
}

/**
 * List the codes of an error and of its causes.
 *
 * @param reason the error that was thrown
 * @returns the codes that are texts, the outermost first; causes more than 8 deep are left out
 */
export function errorCodes(reason: unknown): string[] {
  const codes: string[] = [];
  for (let cause = reason, depth = 0; cause instanceof Error && depth < 8; cause = cause.cause, depth += 1) {
    if ("code" in cause && typeof cause.code === "string") {
      codes.push(cause.code);
    }
  }
  return codes;
}
