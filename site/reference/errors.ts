import { ERROR_CODES } from "../../src/base/errors/error-codes.js";

/** Returns the table of the codes of a class of errors, for docs/errors.md. */
export function errorTable(className: string): string {
  const rows = Object.entries(ERROR_CODES).flatMap(([code, { class: ofClass, title, cause, advice }]) =>
    ofClass === className
      ? [`| <a id="${code.toLowerCase()}"></a>\`${code}\` | **${title}.** ${cause} | ${advice} |`]
      : [],
  );
  return ["| Code | Meaning | What to do |", "|---|---|---|", ...rows].join("\n");
}
