/** The names of headers, parameters and settings whose values are secret. */
const SECRET =
  "(?:proxy-)?authorization|(?:[\\w.-]*[_.-])?(?:password|passwd|pwd|secret|token|api[-_]?key|apikey|cookie)";
const RULES: readonly (readonly [RegExp, string])[] = [
  // The user and password of a URL; a password may itself have the sign that ends it.
  [/([a-z][a-z0-9+.-]*:\/\/)[^\s/?#"'<>]*@/giu, "$1***@"],
  [/\b(bearer|basic|digest|negotiate)\s+[\w.~+/=-]+/giu, "$1 ***"],
  // NAME=VALUE, NAME: VALUE and "NAME": "VALUE", in queries, headers, settings and JSON.
  [
    new RegExp(
      `\\b(${SECRET})(\\\\?["']?\\s*(?:=|:|%3D)\\s*)("(?:[^"\\\\]|\\\\.)*"|'[^']*'|[^\\s&;,"'}]+(?: \\*\\*\\*)?)`,
      "giu",
    ),
    "$1$2***",
  ],
];

/**
 * Mask what a text from outside may have of credentials: user and password of URLs, tokens, and the values of headers,
 * parameters and settings with names such as `authorization` and `password`.
 *
 * @param text the text
 * @returns the text with `***` in place of each of them
 */
export function masked(text: string): string {
  return RULES.reduce((before, [form, mask]) => before.replace(form, mask), text);
}
