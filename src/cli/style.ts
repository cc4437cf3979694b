import { styleText } from "node:util";

/** The environment variables of a command. A command removes the seed that it signs with. */
export type CommandEnvironment = Record<string, string | undefined>;

/** A style of Node's `styleText`. */
type Style = Parameters<typeof styleText>[0];

/**
 * Tell whether text for a stream may be coloured: on terminals, and by the environment variables NO_COLOR and
 * FORCE_COLOR, the first of which wins.
 *
 * @param stream the stream
 * @param environment the environment variables
 * @returns whether it may
 */
export function isColored(
  { isTTY }: { readonly isTTY?: boolean | undefined },
  { NO_COLOR = "", FORCE_COLOR = "", TERM }: CommandEnvironment,
): boolean {
  if (NO_COLOR !== "") {
    return false;
  }
  return FORCE_COLOR === "" ? isTTY === true && TERM !== "dumb" : !["0", "false"].includes(FORCE_COLOR);
}

/**
 * Style a text for a stream that may be coloured.
 *
 * @param stream where the text goes
 * @param style the style, such as `bold`
 * @param text the text
 * @param environment the environment variables
 * @returns the text, styled or as it was
 */
export function styled(
  stream: { readonly isTTY?: boolean | undefined },
  style: Style,
  text: string,
  environment: CommandEnvironment,
): string {
  // Node looks at standard output where it validates, which need not be this stream.
  return isColored(stream, environment) ? styleText(style, text, { validateStream: false }) : text;
}
