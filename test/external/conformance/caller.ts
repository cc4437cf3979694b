import type { Message } from "@bufbuild/protobuf";
import type { ClientCompatRequest } from "./gen/connectrpc/conformance/v1/client_compat_pb.js";
import type { ConformancePayload, ConformanceService } from "./gen/connectrpc/conformance/v1/service_pb.js";

/** The name of a method of the suite's service, as its descriptor has it. */
export type MethodName = keyof typeof ConformanceService.method;

/** What a call is made with beside its messages. */
export interface CallSettings {
  readonly headers: Headers;
  /** The time of the call, in milliseconds; undefined for no limit. */
  readonly timeoutMs: number | undefined;
  readonly signal: AbortSignal;
  readonly onHeader: (headers: Headers) => void;
  readonly onTrailer: (trailers: Headers) => void;
}

/** A failed call, as its client shows it. */
export interface Failure {
  /** gRPC's number of the code. */
  readonly code: number;
  readonly message: string;
  /** The details: the full name of each one's type, and its bytes. */
  readonly details: readonly { readonly type: string; readonly value: Uint8Array }[];
  readonly metadata: Headers;
}

/** An answer of any method of the suite's service. */
export interface Answer extends Message {
  readonly payload?: ConformancePayload | undefined;
}

/** A client under test. */
export interface Caller {
  /** Call a method. The messages of the request are taken as the client sends them. */
  call(name: MethodName, messages: AsyncIterable<Message>, settings: CallSettings): AsyncIterable<Answer>;
  /** Read what a call has thrown. */
  failure(reason: unknown): Failure;
  close(): Promise<void>;
}

/** Make a client for the server that a request of the suite names. Names of files hold the certificates. */
export type CreateCaller = (request: ClientCompatRequest, tls: TlsFiles) => Caller;

/** The names of PEM files; each is there where the suite gives what is in it. */
export interface TlsFiles {
  readonly caFile?: string;
  readonly certFile?: string;
  readonly keyFile?: string;
}
