import { type DescMessage, type DescMethod, isFieldSet, isMessage, type MessageShape } from "@bufbuild/protobuf";
import { ConnectError, type StreamResponse } from "@connectrpc/connect";
import { HttpBodySchema } from "../../../gen/client/google/api/httpbody_pb.js";
import { Code } from "../../base/errors/code.js";
import { monotonicMs } from "../../base/runtime/index.js";
import { extraMessageError, missingMessageError } from "./call-failure.js";

/** Functions that a stream calls while it is read. */
export interface StreamHandlers<T> {
  /** Requests the next message from the stream. By default, it is requested immediately. */
  readonly next?: (messages: AsyncIterator<T>) => Promise<IteratorResult<T>>;
  /** Called for each message, before the reader gets it. */
  readonly onMessage?: (message: T) => void;
  /** Called when all messages have been read. */
  readonly onEnd: () => void;
  /** Throws the error that the reader gets in place of the stream's own. */
  readonly onError: (reason: unknown) => never;
  /** Called when the reader stops before the end. It must end the stream. */
  readonly onReturn: (messages: AsyncIterator<T>) => void | Promise<void>;
}

/**
 * Returns a stream that calls handlers while it is read. Unlike a generator, it lets a reader stop without waiting for the
 * message that was requested last.
 */
export function handleStream<T>(messages: AsyncIterable<T>, handlers: StreamHandlers<T>): AsyncIterable<T> {
  const { next = (iterator) => iterator.next(), onMessage, onEnd, onError, onReturn } = handlers;
  return {
    [Symbol.asyncIterator]() {
      const iterator = messages[Symbol.asyncIterator]();
      return {
        next: () =>
          next(iterator).then((result) => {
            if (result.done === true) {
              onEnd();
            } else {
              onMessage?.(result.value);
            }
            return result;
          }, onError),
        async return(value?: unknown) {
          await onReturn(iterator);
          return { done: true, value };
        },
      };
    },
  };
}

/**
 * Checks that a stream of responses has exactly one message if its method requires one. Connect's client checks this too,
 * but throws an error that no layer sees.
 */
export function requireSingleResponse<T>(method: DescMethod, messages: AsyncIterable<T>): AsyncIterable<T> {
  return method.methodKind === "client_streaming" ? single(messages) : messages;
}

async function* single<T>(messages: AsyncIterable<T>): AsyncGenerator<T> {
  let count = 0;
  for await (const message of messages) {
    count += 1;
    if (count > 1) {
      throw extraMessageError();
    }
    yield message;
  }
  if (count === 0) {
    throw missingMessageError();
  }
}

/**
 * Waits for the first message of a streaming response, so that a failure before it is a failure of the call, which may be
 * retried.
 *
 * @throws the error of the stream if it fails before its first message
 */
export async function awaitFirstMessage<I extends DescMessage, O extends DescMessage>(
  response: StreamResponse<I, O>,
): Promise<StreamResponse<I, O>> {
  const iterator = response.message[Symbol.asyncIterator]();
  let first: ReturnType<typeof iterator.next> | undefined = Promise.resolve(await iterator.next());
  return {
    ...response,
    message: {
      [Symbol.asyncIterator]: () => ({
        next() {
          const next = first ?? iterator.next();
          first = undefined;
          return next;
        },
        // A reader that stops early stops the source.
        async return(value?: unknown) {
          await iterator.return?.(value);
          return { done: true, value };
        },
      }),
    },
  };
}

/**
 * Reads all messages of a request, so that they can be sent more than once.
 *
 * @throws the error of `messages` if it fails
 */
export async function replayable<T>(messages: AsyncIterable<T>): Promise<() => AsyncIterable<T>> {
  const stored: T[] = [];
  for await (const message of messages) {
    stored.push(message);
  }
  return () => streamOf(stored);
}

export async function* streamOf<T>(items: readonly T[]): AsyncGenerator<T> {
  yield* items;
}

/** The maximum number of consecutive empty messages, and the time in which a stream may have as many, in milliseconds. */
const MAX_EMPTY = 250_000;
const EMPTY_WINDOW_MS = 60_000;

/**
 * Returns a check of each message of a stream that limits the empty ones. A server that sends nothing else would keep a reader
 * busy forever, since such a stream exceeds no size limit or idle timeout.
 */
export function emptyMessageLimit<O extends DescMessage>(desc: O): (message: MessageShape<O>) => void {
  let count = 0;
  let since = 0;
  return (message) => {
    if (!isEmpty(desc, message)) {
      count = 0;
      return;
    }
    const now = monotonicMs();
    if (count === 0 || now - since > EMPTY_WINDOW_MS) {
      count = 0;
      since = now;
    }
    count += 1;
    if (count > MAX_EMPTY) {
      throw new ConnectError(`the stream has more than ${MAX_EMPTY} empty messages in a row`, Code.ResourceExhausted);
    }
  };
}

/** Returns whether a message has no field, or only the content type of a body part without data. */
function isEmpty(desc: DescMessage, message: MessageShape<DescMessage>): boolean {
  return isMessage(message, HttpBodySchema)
    ? message.data.length === 0 && message.extensions.length === 0
    : desc.fields.every((field) => !isFieldSet(message, field));
}
