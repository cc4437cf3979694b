/**
 * Make a regular expression of a pattern of the command line.
 *
 * @param pattern a text in which `*` stands for any text and `?` for any character
 * @param flags further flags of the expression, such as `i`
 * @returns the expression, which a whole text has to match
 */
export function patternOf(pattern: string, flags = ""): RegExp {
  const escaped = pattern.replace(/[.+^${}()|[\]\\/-]/g, "\\$&");
  return new RegExp(`^${escaped.replaceAll("*", ".*").replaceAll("?", ".")}$`, `s${flags}`);
}
