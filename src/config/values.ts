import { isIPv4, isIPv6 } from "node:net";
import * as z from "zod";
import { isChainId } from "../errors/chain-id.js";
import { MAX_TIMER_MS } from "../runtime/index.js";
import { isForbiddenHeader } from "./forbidden-headers.js";

/** The URL of a server. */
export const url = z
  .url({
    protocol: /^https?$/,
    abort: true, // The next check needs a URL.
    error: "must be a URL such as http://127.0.0.1:3007 or https://node.example",
  })
  .refine(isPlainUrl, "must have no user name, password, query or fragment; what is secret goes into headers");

/**
 * The schema of a whole number within bounds.
 *
 * @param smallest the smallest number that is possible
 * @param largest the largest number that is possible
 * @param unit the unit for the message, such as `of bytes `, with a space behind it
 * @returns the schema
 */
export const wholeNumber = (smallest: number, largest: number, unit = "") => {
  const error = `must be a whole number ${unit}from ${smallest} to ${largest}`;
  return z.int(error).min(smallest, error).max(largest, error);
};

/** A time in milliseconds, up to the longest that Node's timers can wait. */
export const milliseconds = wholeNumber(1, MAX_TIMER_MS, "of milliseconds ");

/**
 * The schema of a size in bytes.
 *
 * @param smallest the smallest size that is possible
 * @param largest the largest size that is possible
 * @returns the schema
 */
export const bytes = (smallest: number, largest: number) => wholeNumber(smallest, largest, "of bytes ");

/**
 * The schema of a choice between words.
 *
 * @param choices the words that are possible
 * @returns the schema
 */
export const oneOf = <const Choice extends string>(...choices: Choice[]) =>
  z.enum(choices, `must be one of ${choices.join(", ")}`);

/** Headers by name. Their values may be secrets and are never shown. */
export const headers = z.record(
  z
    .string()
    .regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, "has a name that no header can have: letters, digits and - are possible")
    .refine((name) => !isForbiddenHeader(name), "has the name of a header that only the connection sets"),
  z
    .string("must be a text")
    .regex(/^[\t\x20-\x7e\x80-\xff]*$/, "must have no line breaks, and no characters beyond Latin-1"),
  'must be an object of headers, such as {"authorization":"Bearer ..."}',
);

/** The path of a file. `loadConfig` makes it absolute. */
export const pemFile = z
  .string("must be the path of a PEM file")
  .regex(/^[^\0\r\n]+$/, "must be the path of a PEM file, not what is in it")
  .meta({ file: true });

/** A boolean. */
export const trueOrFalse = z.boolean("must be true or false");

/** The name of a host. */
export const host = z.string("must be a host's name").regex(/^[^\s\p{Cc}]+$/u, "must be a host's name");

/** The identifier of a chain. */
export const chainId = z
  .string("must be a text")
  .refine(isChainId, "must be a chain's identifier: 1 to 50 characters of A-Z a-z 0-9 . _ -");

/** An IP address and a port. */
export const address = z
  .string("must be a text")
  .refine(isAddress, { abort: true, error: "must be an IP address and a port, such as 10.0.0.1:3007" });

/**
 * The schema of an object that has certain keys and no others.
 *
 * @param shape the schema of each key's value
 * @returns the schema
 */
export function group<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  return z.strictObject(shape, "must be an object");
}

/** Whether a URL has only parts that requests carry and logs may show. */
function isPlainUrl(text: string): boolean {
  const { username, password } = new URL(text);
  return username === "" && password === "" && !/[?#]/.test(text);
}

function isAddress(text: string): boolean {
  const [, v6, v4, port] = /^(?:\[([^\]%]+)\]|([^:]+)):(\d{1,5})$/.exec(text) ?? [];
  return (isIPv6(v6 ?? "") || isIPv4(v4 ?? "")) && Number(port) >= 1 && Number(port) <= 65_535;
}
