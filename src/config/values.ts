import { isIPv4, isIPv6 } from "node:net";
import { z } from "zod";

/** Where a server answers. */
export const url = z
  .url({
    protocol: /^https?$/,
    abort: true, // What is checked after it wants a URL.
    error: "must be a URL such as http://127.0.0.1:3007 or https://node.example",
  })
  .refine(isPlainUrl, "must have no user name, password, query or fragment; what is secret goes into headers");

/** A whole number within bounds, which are possible themselves. */
export const wholeNumber = (smallest: number, largest: number, unit = "") => {
  const error = `must be a whole number ${unit}from ${smallest} to ${largest}`;
  return z.int(error).min(smallest, error).max(largest, error);
};

/** A time: up to what Node's timers can wait. */
export const milliseconds = wholeNumber(1, 2 ** 31 - 1, "of milliseconds ");

/** A size. */
export const bytes = (smallest: number, largest: number) => wholeNumber(smallest, largest, "of bytes ");

/** One of a few words. */
export const oneOf = <const Choice extends string>(...choices: Choice[]) =>
  z.enum(choices, `must be one of ${choices.join(", ")}`);

/** Headers by name. Their values may be secrets and are never shown. */
export const headers = z.record(
  z
    .string()
    .regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, "has a name that no header can have: letters, digits and - are possible"),
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

/** A choice of two. */
export const trueOrFalse = z.boolean("must be true or false");

/** The name of a host. */
export const host = z.string("must be a host's name").regex(/^[^\s\p{Cc}]+$/u, "must be a host's name");

/** An IP address and a port. */
export const address = z
  .string("must be a text")
  .refine(isAddress, { abort: true, error: "must be an IP address and a port, such as 10.0.0.1:3007" });

/** An object of keys, and no others. */
export function group<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  return z.strictObject(shape, "must be an object");
}

/** Whether a URL has nothing that requests would not carry, or logs should not. */
function isPlainUrl(text: string): boolean {
  const { username, password } = new URL(text);
  return username === "" && password === "" && !/[?#]/.test(text);
}

function isAddress(text: string): boolean {
  const [, v6, v4, port] = /^(?:\[([^\]%]+)\]|([^:]+)):(\d{1,5})$/.exec(text) ?? [];
  return (isIPv6(v6 ?? "") || isIPv4(v4 ?? "")) && Number(port) >= 1 && Number(port) <= 65_535;
}
