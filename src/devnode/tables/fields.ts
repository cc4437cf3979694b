import { type DescEnum, type DescMessage, type MessageShape, toJson } from "@bufbuild/protobuf";
import type { Happening } from "../world/event.js";
import type { Value } from "./values.js";

/** What an event says, by the names of columns. */
export type Fields = Readonly<Record<string, Value>>;

/** Tells what an event says for a table; nothing where it brings no row of it. */
export type FieldsOf = (happening: Happening) => readonly Fields[];

/** An identifier; none where it is empty. */
export const id = (text: string | undefined): string | undefined => (text === "" ? undefined : text);

/** A number, price or amount in a text; none where it is empty. */
export const amount = id;

/** A time in Unix nanoseconds; none where it is 0. */
export const time = (nanoseconds: bigint | undefined): bigint | undefined =>
  nanoseconds === 0n ? undefined : nanoseconds;

/** The name of an enum's value. */
export const name = (schema: DescEnum, value: number): string | undefined => schema.value[value]?.name;

/** A message as JSON; none where there is no message. */
export function json<S extends DescMessage>(schema: S, message: MessageShape<S> | undefined): Value {
  return message === undefined ? undefined : toJson(schema, message);
}

/** Messages as a list in JSON. */
export function jsonList<S extends DescMessage>(schema: S, messages: readonly MessageShape<S>[]): Value {
  return messages.map((message) => toJson(schema, message));
}

/** What every row says of its transaction and block. */
export const origin = ({ txHash, block }: Happening): Fields => ({ tx_hash: txHash, vega_time: block.time });

/** The place in the block, from 1. */
export const sequence = ({ sequence }: Happening): Fields => ({ seq_num: sequence });

/** A time of its own for each event: that of the block, and a microsecond more for each place in it. */
export const syntheticTime = ({ block, sequence }: Happening): bigint => block.time + BigInt(sequence) * 1000n;
