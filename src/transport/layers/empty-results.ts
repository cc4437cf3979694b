import { type DescMessage, isFieldSet, type MessageShape } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { monotonicMs } from "../../runtime/index.js";
import { watched } from "../watched.js";

/** The empty messages in a row, and the time in which a stream may have as many, in milliseconds. */
const MAX_EMPTY = 250_000;
const WITHIN_MS = 60_000;

/**
 * Limit the empty messages of a stream: a server that sends nothing but those keeps a reader busy for ever, as no limit
 * of size or silence is ever reached.
 *
 * @param desc the messages' descriptor
 * @param messages the messages
 * @returns the same messages; after 250,000 empty ones in a row within a minute they end with a ConnectError
 */
export function limitEmpty<O extends DescMessage>(
  desc: O,
  messages: AsyncIterable<MessageShape<O>>,
): AsyncIterable<MessageShape<O>> {
  let count = 0;
  let since = 0;
  return watched(messages, {
    async next(iterator) {
      const result = await iterator.next();
      if (result.done === true || !isEmpty(desc, result.value)) {
        count = 0;
        return result;
      }
      const now = monotonicMs();
      if (count === 0 || now - since > WITHIN_MS) {
        count = 0;
        since = now;
      }
      count += 1;
      if (count > MAX_EMPTY) {
        await iterator.return?.();
        throw new ConnectError(`the stream has more than ${MAX_EMPTY} empty messages in a row`, Code.ResourceExhausted);
      }
      return result;
    },
    ended: () => undefined,
    failed: (reason) => {
      throw reason;
    },
    left: async (iterator) => {
      await iterator.return?.();
    },
  });
}

/** Whether a message has no field, or none but the content type of a piece without data. */
function isEmpty(desc: DescMessage, message: MessageShape<DescMessage>): boolean {
  return desc.fields.every(
    (field) => !isFieldSet(message, field) || (desc.typeName === HTTP_BODY && field.name === "content_type"),
  );
}

const HTTP_BODY = "google.api.HttpBody";
