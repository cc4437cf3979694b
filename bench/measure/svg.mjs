// Bars, one for each row, with the span of its runs: SVG by hand, as it is forty lines.

const [WIDTH, LABEL, BAR, GAP, HEAD] = [860, 300, 16, 6, 34];
const COLOURS = { ours: "#1f6feb", peer: "#8c959f" };

const escaped = (text) => text.replace(/[<>&"]/g, (letter) => `&#${letter.charCodeAt(0)};`);

/** Draw the rates of a group's sections, one below the other. */
export function draw({ title, sections }) {
  let y = 8;
  const parts = sections.flatMap(({ title: heading, plot = "rate", rows: all, ...section }) => {
    const unit = { rate: section.unit, cpu: section.cpuUnit, peak: "peak MiB", each: "bytes each" }[plot];
    const rows = all.filter((row) => Number.isFinite(row[plot]));
    const most = Math.max(...rows.map((row) => row[plot] ?? 0)) || 1;
    const scale = (value) => ((value / most) * (WIDTH - LABEL - 90)).toFixed(1);
    y += HEAD;
    const top = text(8, y - 14, `${heading} (${unit})`, "font-weight='bold'");
    return [top, ...rows.map((row) => bar(row, row[plot], plot === "rate" ? row.span : undefined, scale))];
  });

  function bar({ name, ours }, value, span, scale) {
    const at = y;
    y += BAR + GAP;
    const colour = ours ? COLOURS.ours : COLOURS.peer;
    const shown = value >= 100 ? Math.round(value).toLocaleString("en-US") : value.toPrecision(3);
    const [low, high] = (span ?? []).map((end) => LABEL + Number(scale(end)));
    return [
      text(LABEL - 8, at + 12, name, "text-anchor='end'"),
      `<rect x="${LABEL}" y="${at}" width="${scale(value)}" height="${BAR}" fill="${colour}"/>`,
      span && `<path d="M${low} ${at + BAR / 2}H${high}" stroke="#24292f"/>`,
      text(Math.max(LABEL + Number(scale(value)), high ?? 0) + 6, at + 12, shown),
    ].join("");
  }

  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${y + 8}" font-family="sans-serif" font-size="12">
<title>${escaped(title)}</title><rect width="100%" height="100%" fill="#fff"/>
${parts.join("\n")}
</svg>
`;
}

function text(x, y, content, more = "") {
  return `<text x="${Number(x).toFixed(1)}" y="${y}" fill="#24292f" ${more}>${escaped(content)}</text>`;
}
