// Tables of what was measured, in Markdown, which a terminal shows as well.

/** How the figures are made. */
export const HOW = [
  "Each run is a process of its own, rounds are interleaved, and figures are medians; a ratio is the median of the",
  "rounds' ratios. What is imported, and what our transports load at their first call, is not measured. CPU is that of",
  "user and system, of all threads. Our rows, in bold, have all checks on. The server replays prepared frames: its share",
  "of a core, and the rate at which a bare socket takes the same, show that it is not the limit.",
];

/** How a number is shown: three digits that count, or whole. */
const short = (value) =>
  !Number.isFinite(value) ? "" : value >= 100 ? Math.round(value).toLocaleString("en-US") : value.toPrecision(3);

/**
 * Show one section: a table of its rows, what was left out, and its goals.
 *
 * @param section what `run.mjs` has made of it
 * @returns lines of Markdown
 */
export function sectionLines({ title, unit, cpuUnit, reference, rows, absent, goals }) {
  const against = reference === undefined ? "ratio" : `× ${reference}`;
  const table = rows.map(({ name, ours, ratio, rate, cpu, peak, server }) => [
    ours ? `**${name}**` : name,
    Number.isFinite(ratio) ? ratio.toFixed(2) : "",
    short(rate),
    short(cpu),
    Number.isFinite(peak) ? peak.toFixed(0) : "",
    Number.isFinite(server) ? `${Math.round(server * 100)} %` : "",
  ]);
  return [
    `### ${title}`,
    "",
    ...columns([["", against, unit, cpuUnit, "peak MiB", "server's core"], ...table]),
    "",
    ...absent.map(({ name, why }) => `Left out: ${name}, as ${why}.`),
    ...(absent.length > 0 ? [""] : []),
    ...(goals.length > 0 ? [...columns([["goal", "wanted", "measured", ""], ...goals.map(goalCells)]), ""] : []),
  ];
}

function goalCells({ text, least, most, value, met }) {
  const wanted = [least && `≥ ${least}`, most && `≤ ${most}`].filter(Boolean).join(", ");
  const verdict = { true: "met", false: "**missed**" }[met] ?? (value === undefined ? "not measured" : "");
  return [text, wanted, short(value), verdict];
}

/** A table with aligned columns, the first one to the left. */
function columns(table) {
  const [head, ...rows] = table.map((cells) => cells.map((cell) => cell.replaceAll("|", "\\|")));
  const widths = head.map((_, column) => Math.max(3, ...[head, ...rows].map((cells) => cells[column].length)));
  const line = (cells) =>
    `| ${cells.map((cell, at) => (at === 0 ? cell.padEnd(widths[at]) : cell.padStart(widths[at]))).join(" | ")} |`;
  const rule = `|${widths.map((width, at) => (at === 0 ? "-".repeat(width + 2) : `${"-".repeat(width + 1)}:`)).join("|")}|`;
  return [line(head), rule, ...rows.map(line)];
}

/**
 * Show everything that was measured, by groups, with their plots.
 *
 * @param {object} results the groups, as they stand in results.json
 * @returns {string} a page of Markdown
 */
export function page(results) {
  const groups = Object.entries(results).map(([name, { title, about, date, quick, machine, sections }]) => [
    `## ${title}`,
    "",
    about,
    "",
    `${date.slice(0, 10)}${quick ? ", a quick run" : ""}; ${machine.cpu}, ${machine.cores} cores, ${machine.memoryGib} GiB; ${machine.system}; Node ${machine.node}.`,
    "",
    `![${title}](${name}.svg)`,
    "",
    ...sections.flatMap(sectionLines),
  ]);
  const opening = ["# What is promised about speed, measured", "", "Made by `npm run bench`.", "", ...HOW, ""];
  return [...opening, ...groups.flat()].join("\n");
}
