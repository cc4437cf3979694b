import type { Case } from "./case.js";
import { transports } from "./transports.js";

/** How a case went over a transport: as it should, not so, or it is not possible there. */
export type Mark = "✓" | "✗" | "–";

/** A table with transports across and cases down, and the reasons for what was left out. */
export function tableOf(rows: readonly { readonly one: Case; readonly marks: readonly Mark[] }[]): string {
  const width = Math.max(...rows.map(({ one }) => one.name.length));
  const columns = transports.map(({ name }) => name);
  const line = (first: string, cells: readonly string[]) =>
    `${first.padEnd(width)}  ${cells.map((cell, at) => cell.padEnd(columns[at]?.length ?? 0)).join("  ")}`.trimEnd();
  const reasons = rows.flatMap(({ one }) => (one.over === undefined ? [] : [`– ${one.name}: ${one.over.because}`]));
  return [line("", columns), ...rows.map(({ one, marks }) => line(one.name, marks)), ...reasons, ""].join("\n");
}
