import { type DescMessage, isMessage, type Message, toBinary } from "@bufbuild/protobuf";
import { HttpBodySchema } from "../../../gen/client/google/api/httpbody_pb.js";
import type { TradewireError } from "../../base/errors/index.js";
import { createEventReporter } from "../../base/errors/observer.js";
import { assertFunction, assertKnownKeys } from "../../base/input/assert.js";
import { monotonicMs } from "../../base/runtime/index.js";
import { assignCallId, type SentTo, sentTo } from "./call-context.js";
import { type AnyCall, layered } from "./layered.js";
import { callError } from "./library-errors.js";
import { handleStream } from "./message-streams.js";
import { methodName } from "./method.js";
import type { AnyTransport, ClosableTransport, Endpoint } from "./transport-types.js";

/** A call as hooks see it. */
export interface CallInfo {
  /** The id of the call. It is unique in the process, across all clients. */
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
  /** The call's failure; absent if it succeeded. */
  readonly error?: TradewireError;
  /** The endpoint that the call was last sent to: with `auto`, one of several. Absent if the call was not sent. */
  readonly sentTo?: SentTo;
}

/** A call that is retried. */
export interface RetryInfo {
  /** The call's id, as in {@link CallInfo}. */
  readonly id: number;
  readonly method: string;
  /** The number of the attempt that failed, from 1. */
  readonly attempt: number;
  /** The wait before the next attempt, in milliseconds. */
  readonly delayMs: number;
  readonly error: TradewireError;
}

/** A call that waits before it is sent, to stay within a rate limit. */
export interface WaitInfo {
  /** The call's id, as in {@link CallInfo}. */
  readonly id: number;
  readonly method: string;
  /** The expected wait, in milliseconds. */
  readonly waitMs: number;
  readonly reason: "the server's rate limit" | "the server refused a call" | "limits.callsPerSecond";
}

/** A call that is made again over another transport. */
export interface FallbackInfo {
  /** The call's id, as in {@link CallInfo}. */
  readonly id: number;
  readonly method: string;
  /** The transport that failed. */
  readonly from: string;
  /** The transport that is used instead. */
  readonly to: string;
  readonly error: TradewireError;
}

/** A node that is no longer used, or that is used again. */
export interface NodeChange {
  /** Its name: that of its transport, and the URL if the transport has several nodes. */
  readonly name: string;
  /** The URL; absent for a custom transport. */
  readonly url?: string;
  /** Why it is not used; absent if it is used again. */
  readonly refusal?: string;
}

/**
 * Functions that observe calls, for logs, metrics and traces. They are called synchronously. An error that one throws
 * becomes a warning of the process, once for each kind of hook, and changes no call. Hooks receive no headers, requests
 * or responses, because they may contain secrets.
 */
export interface Hooks {
  onCallStart?(call: CallInfo): void;
  /** Called with the size of the data that arrived: of the parts of an HTTP body, and the binary size of other messages. */
  onBytes?(call: CallInfo, bytes: number): void;
  onCallEnd?(call: CallInfo, end: CallEnd): void;
  onRetry?(retry: RetryInfo): void;
  onWait?(wait: WaitInfo): void;
  onFallback?(fallback: FallbackInfo): void;
  /** Called, for a client with several nodes, when one turns out to be of another chain or behind the others. */
  onNodeChange?(change: NodeChange): void;
}

/** The names of {@link Hooks}. */
const HOOKS = {
  onCallStart: true,
  onBytes: true,
  onCallEnd: true,
  onRetry: true,
  onWait: true,
  onFallback: true,
  onNodeChange: true,
} as const;

/** The hooks that {@link isolateHooks} has returned. */
const isolated = new WeakSet<Hooks>();

/**
 * Returns hooks that never throw. An error that a hook throws or rejects with becomes a process warning, once for each
 * kind of hook.
 *
 * @throws {@link RequestError} if there is no hook of a name, or one is not a function
 */
export function isolateHooks(hooks: Hooks): Hooks {
  assertKnownKeys("hooks", hooks, HOOKS);
  if (isolated.has(hooks)) {
    return hooks;
  }
  const { onCallStart, onBytes, onCallEnd, onRetry, onWait, onFallback, onNodeChange } = hooks;
  const given = { onCallStart, onBytes, onCallEnd, onRetry, onWait, onFallback, onNodeChange };
  for (const [name, hook] of Object.entries(given)) {
    assertFunction(`hooks.${name}`, hook || undefined);
  }
  const harmless: Hooks = {
    ...(onCallStart && { onCallStart: createEventReporter(onCallStart.bind(hooks), "calls", "onCallStart") }),
    ...(onBytes && { onBytes: createEventReporter(onBytes.bind(hooks), "calls", "onBytes") }),
    ...(onCallEnd && { onCallEnd: createEventReporter(onCallEnd.bind(hooks), "calls", "onCallEnd") }),
    ...(onRetry && { onRetry: createEventReporter(onRetry.bind(hooks), "calls", "onRetry") }),
    ...(onWait && { onWait: createEventReporter(onWait.bind(hooks), "calls", "onWait") }),
    ...(onFallback && { onFallback: createEventReporter(onFallback.bind(hooks), "calls", "onFallback") }),
    ...(onNodeChange && { onNodeChange: createEventReporter(onNodeChange.bind(hooks), "calls", "onNodeChange") }),
  };
  isolated.add(harmless);
  return harmless;
}

/**
 * Returns a transport that reports its calls to hooks.
 *
 * @param transport the transport that makes the calls
 * @param endpoint the name and the URL for hooks and errors
 * @param hooks the functions to call; an error that one throws changes no call
 * @returns the transport; closing it closes `transport`
 */
export function withHooks(transport: AnyTransport, endpoint: Endpoint, hooks: Hooks): ClosableTransport {
  const reported = isolateHooks(hooks);
  return layered(transport, {
    async unary(call, next) {
      const { fail, receive, end } = reportCall(reported, endpoint, call);
      const response = await next(call).catch(fail);
      receive(response.message);
      end();
      return response;
    },

    async stream(call, next) {
      const { fail, receive, end } = reportCall(reported, endpoint, call);
      const response = await next(call).catch(fail);
      const message = handleStream(response.message, {
        onMessage: receive,
        onEnd: end,
        onError: fail,
        async onReturn(messages) {
          end();
          await messages.return?.();
        },
      });
      return { ...response, message };
    },
  });
}

/** Reports the start of a call, and returns functions that report the rest of it. */
function reportCall(hooks: Hooks, endpoint: Endpoint, { method, signal, contextValues }: AnyCall) {
  const start = monotonicMs();
  const name = methodName(method);
  const call: CallInfo = { id: assignCallId(contextValues), method: name, transport: endpoint.name };
  let messages = 0;
  let isEnded = false;
  const end = (reason?: unknown) => {
    if (isEnded) {
      return;
    }
    isEnded = true;
    signal?.removeEventListener("abort", onAbort);
    const context = { transport: endpoint.name, method: name, url: endpoint.url, signal };
    const endpointSentTo = sentTo(contextValues);
    hooks.onCallEnd?.(call, {
      durationMs: monotonicMs() - start,
      messages,
      ...(reason !== undefined && { error: callError(reason, context) }),
      ...(endpointSentTo && { sentTo: endpointSentTo }),
    });
  };
  const onAbort = () => end(signal?.reason);
  hooks.onCallStart?.(call);
  signal?.addEventListener("abort", onAbort); // The reader of a stream may never ask for its end.
  return {
    receive(message: Message) {
      messages += 1;
      hooks.onBytes?.(call, sizeOf(method.output, message));
    },
    end: () => end(),
    fail(reason: unknown): never {
      end(reason);
      throw reason;
    },
  };
}

function sizeOf(desc: DescMessage, message: Message): number {
  return isMessage(message, HttpBodySchema) ? message.data.length : toBinary(desc, message).length;
}
