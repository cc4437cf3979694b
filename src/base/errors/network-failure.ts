import { Code } from "./code.js";
import type { ErrorCode } from "./error-codes.js";
import type { ErrorText } from "./error-text.js";
import { causesOf, errorCodes, isError } from "./node-errors.js";

/** A network failure during a call. */
export interface NetworkFailure {
  /** The failure, in the same words regardless of the library that reported it. */
  readonly summary: string;
  /** Whether a connection was open. If not, nothing was sent. */
  readonly connected: boolean;
  /** Advice on what to check. */
  readonly advice: ErrorText;
  /** The gRPC status code, if it is not UNAVAILABLE. */
  readonly code?: Code;
  /** The stable code of the error, if it does not follow from `connected`. */
  readonly errorCode?: ErrorCode;
}

const CHECK_SERVER = "Check that the server is running, that the URL is correct, and that the network works.";
export const CHECK_TRANSPORT =
  "Check that the URL belongs to this transport: gRPC and REST have different ports, and a port with TLS needs an https: URL.";
const CHECK_TLS: ErrorText = (nameOf) =>
  `Check the certificate, ${nameOf("tls.caFile")}, tls.serverName and the scheme of the URL.`;
const CHECK_CLOCK = "Ask the server's operator to renew the certificate, and check the clock of this machine.";
const CHECK_AUTHORITY: ErrorText = (nameOf) =>
  `If you trust the server, set ${nameOf("tls.caFile")} to the file of its certificate authority, or of the certificate itself.`;
const CHECK_NAME = "Use a hostname that is in the certificate, or set tls.serverName to one.";
const CHECK_SCHEME = "Use an http: URL, or the port on which the server speaks TLS.";
const CHECK_WHETHER_TLS =
  "If the port speaks TLS, use an https: URL. Otherwise check the server and the network, and try again.";
const CHECK_WHETHER_REFUSED =
  "The server may have refused or required a client certificate: check tls.certFile. Otherwise check the server and the network, and try again.";
const TLS_FAILED = "TW_TLS";
const TRY_AGAIN = "Try again. If it persists, check the server and the network.";

/** The maximum number of fields of a response's header, except over `grpc-js`. */
export const MAX_HEADER_FIELDS = 1000;

/** The maximum number of fields of a response's header over `grpc-js`: Node's default for HTTP/2, which it cannot change. */
const MAX_GRPC_JS_HEADER_FIELDS = 128;

/** The maximum size of a response's header, in bytes: Node's default for HTTP/2. */
export const MAX_HEADER_BYTES = 65_535;

const NOT_MADE: ReadonlyMap<string, string> = new Map([
  ["ECONNREFUSED", "the connection was refused"],
  ["ENOTFOUND", "the hostname could not be resolved"],
  ["EAI_AGAIN", "the hostname could not be resolved"],
  ["EHOSTUNREACH", "the host is unreachable"],
  ["ENETUNREACH", "the host is unreachable"],
  ["EADDRNOTAVAIL", "the host is unreachable"],
  ["ETIMEDOUT", "the connection timed out"],
]);

/**
 * The server refuses the client's certificate: the alerts of RFC 8446, section 6.2, under OpenSSL's names. With TLS 1.3, the
 * alert arrives after the handshake.
 */
const CLIENT_REFUSED =
  /^ERR_SSL_.*_ALERT_((BAD|UNSUPPORTED)_CERTIFICATE|CERTIFICATE_(REVOKED|EXPIRED|UNKNOWN)|UNKNOWN_CA|ACCESS_DENIED)$/;
/** The server requires a client certificate, and the client sent none. */
const CLIENT_MISSING = /^ERR_SSL_.*_ALERT_CERTIFICATE_REQUIRED$/;
const CHECK_OWN_CERTIFICATE =
  "Set tls.certFile and tls.keyFile to a certificate that the server accepts, and its key. Ask the server's operator which it accepts.";

const NOT_TRUSTED: ReadonlyMap<string, readonly [summary: string, advice: ErrorText]> = new Map([
  ["CERT_HAS_EXPIRED", ["the server's certificate has expired", CHECK_CLOCK]],
  ["CERT_NOT_YET_VALID", ["the server's certificate is not valid yet", CHECK_CLOCK]],
  ["ERR_TLS_CERT_ALTNAME_INVALID", ["the server's certificate is for another hostname", CHECK_NAME]],
  ["DEPTH_ZERO_SELF_SIGNED_CERT", ["the server's certificate is not trusted", CHECK_AUTHORITY]],
  ["SELF_SIGNED_CERT_IN_CHAIN", ["the server's certificate is not trusted", CHECK_AUTHORITY]],
  ["UNABLE_TO_GET_ISSUER_CERT", ["the server's certificate is not trusted", CHECK_AUTHORITY]],
  ["UNABLE_TO_GET_ISSUER_CERT_LOCALLY", ["the server's certificate is not trusted", CHECK_AUTHORITY]],
  ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", ["the server's certificate is not trusted", CHECK_AUTHORITY]],
]);

/** OpenSSL's other reasons not to accept a certificate (X509_verify_cert_error_string), as Node names them. */
const NOT_ACCEPTED =
  /^(CERT_|CRL_|UNABLE_TO_|ERROR_IN_C|INVALID_(CA|PURPOSE)$|PATH_LENGTH_EXCEEDED$|HOSTNAME_MISMATCH$|UNSPECIFIED$)/;

/** The reply to the first TLS message was not TLS. For the code EPROTO, only the message says so. */
const NOT_TLS = /^ERR_SSL_(WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|HTTP_REQUEST)$/;
const NOT_TLS_MESSAGE = /:(wrong version number|packet length too long|http request):/;

/** The reply was not HTTP, or not the expected version. Over TLS, a server without HTTP/2 says so in the handshake. */
const OTHER_PROTOCOL = /^(HPE_|ERR_HTTP2_ERROR$)|_NO_APPLICATION_PROTOCOL$/;

const TLS = /^(EPROTO$|ERR_SSL_|ERR_TLS_)/;
const LOST = /^(ECONNRESET|EPIPE|ECONNABORTED|EPROTO$|ERR_SSL_|ERR_TLS_|ERR_STREAM_|ERR_HTTP2_)/;

/** The errors that {@link markConnecting} has marked. */
const ofConnecting = new WeakSet<Error>();

/**
 * Marks an error as a failure to connect, so that no part of the call was sent. Established connections fail with the same
 * codes, so only the code that connects knows the difference.
 */
export function markConnecting(reason: unknown): Error {
  const error = isError(reason) ? reason : new Error(String(reason));
  ofConnecting.add(error);
  return error;
}

/** Returns whether an error is a failure to connect, so that no part of the call was sent. */
export function isConnecting(reason: unknown): boolean {
  return causesOf(reason).some(isOfConnecting);
}

/** The errors that {@link markNothingReceived} has marked. */
const beforeBytes = new WeakSet<Error>();

/**
 * Marks an error of a connection that was lost before a byte was received. This is how a TLS server closes a connection that
 * starts without TLS.
 */
export function markNothingReceived(error: Error): Error {
  beforeBytes.add(error);
  return error;
}

/** Returns the error of a connection that was not ready before its deadline. */
export function connectTimeoutError(): Error {
  return markConnecting(Object.assign(new Error("connection timed out"), { code: "ETIMEDOUT" }));
}

/** Returns the network failure behind an error, by the codes of Node's modules and of the libraries on top of them. */
export function networkFailure(reason: unknown, url: string): NetworkFailure | undefined {
  const codes = errorCodes(reason);
  const causes = causesOf(reason);
  const connected = !isConnecting(reason);
  const first = <T>(find: (code: string) => T | undefined) => codes.map(find).find((found) => found !== undefined);
  const notTrusted = first((code) => NOT_TRUSTED.get(code));
  if (notTrusted !== undefined) {
    const [summary, advice] = notTrusted;
    return { summary, connected, advice, errorCode: TLS_FAILED };
  }
  if (!connected && codes.some((code) => NOT_ACCEPTED.test(code))) {
    const summary = "the server's certificate is not trusted";
    return { summary, connected, advice: CHECK_TLS, errorCode: TLS_FAILED };
  }
  const isPlain = codes.some((code) => NOT_TLS.test(code) || (code === "EPROTO" && saysNotTls(reason)));
  if (!connected && isPlain) {
    return { summary: "the server does not speak TLS", connected, advice: CHECK_SCHEME, errorCode: TLS_FAILED };
  }
  if (connected && codes.includes("ERR_HTTP2_ERROR")) {
    return { summary: "the server violated the HTTP/2 protocol", connected, advice: TRY_AGAIN };
  }
  if (codes.some((code) => OTHER_PROTOCOL.test(code))) {
    const summary = "the server does not speak the protocol of this transport";
    return { summary, connected, advice: CHECK_TRANSPORT };
  }
  if (codes.some((code) => CLIENT_MISSING.test(code))) {
    return {
      summary: "the server requires a client certificate",
      connected,
      advice: CHECK_OWN_CERTIFICATE,
      errorCode: TLS_FAILED,
    };
  }
  if (codes.some((code) => CLIENT_REFUSED.test(code))) {
    return {
      summary: "the server refused the client certificate, or requires one",
      connected,
      advice: CHECK_OWN_CERTIFICATE,
      errorCode: TLS_FAILED,
    };
  }
  if (!connected && codes.some((code) => TLS.test(code))) {
    return { summary: "the TLS handshake failed", connected, advice: CHECK_TLS, errorCode: TLS_FAILED };
  }
  const notMade = first((code) => NOT_MADE.get(code));
  if (notMade !== undefined) {
    return connected ? connectionLost() : { summary: notMade, connected, advice: CHECK_SERVER };
  }
  if (!codes.some((code) => LOST.test(code))) {
    return undefined;
  }
  const isUnanswered = !connected || causes.some((error) => beforeBytes.has(error));
  const advice = url.startsWith("http:") ? CHECK_WHETHER_TLS : CHECK_WHETHER_REFUSED;
  return { ...connectionLost(), connected, ...(isUnanswered && { advice }) };
}

function saysNotTls(reason: unknown): boolean {
  return causesOf(reason).some(({ message }) => NOT_TLS_MESSAGE.test(message));
}

/** The HTTP/2 error code of a stream that exceeds a limit (RFC 9113, 7: ENHANCE_YOUR_CALM). */
const OVER_LIMIT = 11;

/** The gRPC codes of HTTP/2 error codes; all others are INTERNAL. */
const RESET_CODES: ReadonlyMap<number, Code> = new Map([
  [7, Code.Unavailable],
  [8, Code.Canceled],
  [OVER_LIMIT, Code.ResourceExhausted],
  [12, Code.PermissionDenied],
]);

/**
 * Returns the failure of a call whose HTTP/2 stream was reset. The server has reset it, or Node, for a header over the limit: only
 * for that code it cannot be known who did.
 */
export function streamReset(http2Code: number, transport?: string): NetworkFailure {
  const code = RESET_CODES.get(http2Code) ?? Code.Internal;
  if (http2Code === OVER_LIMIT) {
    const fields = transport === "grpc-js" ? MAX_GRPC_JS_HEADER_FIELDS : MAX_HEADER_FIELDS;
    return {
      summary: `the call was reset because a limit was exceeded (HTTP/2 error code ${OVER_LIMIT})`,
      connected: true,
      advice: `Either the server limits calls, or the response has more headers than this client accepts over this transport: ${fields}, of ${MAX_HEADER_BYTES} bytes together. Call less often, or check the proxies in front of the server.`,
      code,
    };
  }
  const summary = `the server reset the call (HTTP/2 error code ${http2Code})`;
  return { summary, connected: true, advice: TRY_AGAIN, code };
}

/** Returns whether an error is a failure to connect, by its system call or by its mark. */
function isOfConnecting(error: Error): boolean {
  return (
    ofConnecting.has(error) || ("syscall" in error && (error.syscall === "connect" || error.syscall === "getaddrinfo"))
  );
}

export function connectionLost(): NetworkFailure {
  return { summary: "the connection was lost", connected: true, advice: TRY_AGAIN };
}
