import { type DescMessage, isMessage, type Message } from "@bufbuild/protobuf";
import { messageToJson } from "../json/message.js";
import type { ListedRecord } from "./records.js";

/**
 * Let `JSON.stringify` write an answer, as Protobuf's JSON: by itself it fails at 64-bit integers.
 *
 * @param desc the answer's type
 * @param answer the answer; it gets a `toJSON` that is not enumerated
 * @returns the answer
 */
export function withJson<M extends Message>(desc: DescMessage, answer: M): M {
  return Object.defineProperty(answer, "toJSON", { value: () => jsonOf(desc, answer) });
}

/**
 * Make what makes records that `JSON.stringify` can write.
 *
 * @param desc the type of what they hold
 * @returns makes a record of a cursor and what it stands at
 */
export function recordMaker(desc: DescMessage): <N extends Message>(cursor: string, node: N) => ListedRecord<N> {
  class Listed<N extends Message> implements ListedRecord<N> {
    constructor(
      readonly cursor: string,
      readonly node: N,
    ) {}

    toJSON() {
      return { cursor: this.cursor, node: jsonOf(desc, this.node) };
    }
  }
  return (cursor, node) => new Listed(cursor, node);
}

function jsonOf(desc: DescMessage, message: Message): unknown {
  return isMessage(message, desc) ? messageToJson(desc, message) : message;
}
