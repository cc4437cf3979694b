import type { TradewireError } from "../errors/index.js";

/** A call as hooks see it. */
export interface CallInfo {
  /** The number of the call: no other call of the process has it, whichever client makes it. */
  readonly id: number;
  /** The full name of the method, such as `datanode.api.v2.TradingDataService/ExportNetworkHistory`. */
  readonly method: string;
  /** The transport's name in the configuration. */
  readonly transport: string;
}

/** How a call ended. */
export interface CallEnd {
  /** The duration, in milliseconds. */
  readonly durationMs: number;
  /** The number of messages that arrived. */
  readonly messages: number;
  /** The call's failure; absent where it succeeded. */
  readonly error?: TradewireError;
  /** Where the call was sent, at last: with `auto` one of several. Absent where it ended before. */
  readonly sentTo?: SentTo;
}

/** An endpoint that a call was sent to. */
export interface SentTo {
  /** The transport's name in the configuration. */
  readonly transport: string;
  /** The node's URL in the configuration. */
  readonly url: string;
}

/** A call that is tried again. */
export interface RetryInfo {
  /** The call's number, as in {@link CallInfo}. */
  readonly id: number;
  readonly method: string;
  /** The number of the try that failed, from 1. */
  readonly attempt: number;
  /** The wait before the next one, in milliseconds. */
  readonly delayMs: number;
  readonly error: TradewireError;
}

/** A call that waits before it is sent, so that the node's limit on calls is kept. */
export interface WaitInfo {
  /** The call's number, as in {@link CallInfo}. */
  readonly id: number;
  readonly method: string;
  /** The expected wait, in milliseconds. */
  readonly waitMs: number;
  readonly reason: "the node's rate limit" | "the node refused a call" | "limits.callsPerSecond";
}

/** A call that is made again over another transport. */
export interface FallbackInfo {
  /** The call's number, as in {@link CallInfo}. */
  readonly id: number;
  readonly method: string;
  /** The transport that failed. */
  readonly from: string;
  /** The transport that is taken instead. */
  readonly to: string;
  readonly error: TradewireError;
}

/**
 * Functions that observe calls, for logs, metrics and traces. They are called synchronously. What one throws becomes a
 * warning of the process, once for each kind of hook, and changes no call. None of them gets a header, a request or a
 * response: those may hold secrets.
 */
export interface Hooks {
  onCallStart?(call: CallInfo): void;
  /** Bytes of data that arrived: of the parts of an HTTP body, and the binary size of other messages. */
  onBytes?(call: CallInfo, bytes: number): void;
  onCallEnd?(call: CallInfo, end: CallEnd): void;
  onRetry?(retry: RetryInfo): void;
  onWait?(wait: WaitInfo): void;
  onFallback?(fallback: FallbackInfo): void;
}

/** The names of {@link Hooks}. */
export const HOOKS = {
  onCallStart: true,
  onBytes: true,
  onCallEnd: true,
  onRetry: true,
  onWait: true,
  onFallback: true,
} as const;
