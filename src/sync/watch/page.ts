import { script } from "./page/script.js";

/** The part of the page's script that draws the coverage. */
const drawing = String.raw`
const byId = (id) => document.getElementById(id);
const whole = new Intl.NumberFormat("en");
const blocksText = (from, to) => whole.format(from) + "–" + whole.format(to);
const color = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();

/** Makes an element; what it holds is text or elements, never markup. */
function element(tag, className, ...content) {
  const made = document.createElement(tag);
  made.className = className;
  made.append(...content);
  return made;
}

const strips = new Map(); // Table to the elements of its row.
let picture;

/** One row for each table, made once. */
function showTables(tables) {
  if (tables.length !== strips.size || tables.some(({ table }) => !strips.has(table))) {
    strips.clear();
    byId("tables").replaceChildren(...tables.map(({ table }) => {
      const canvas = element("canvas", "");
      canvas.setAttribute("role", "img");
      canvas.dataset.table = table;
      const parts = { canvas, percent: element("span", "number percent"), rows: element("span", "number rows"), bytes: element("span", "number bytes") };
      strips.set(table, parts);
      return element("div", "row", element("span", "name", table), canvas, parts.percent, parts.rows, parts.bytes);
    }));
  }
  for (const { table, segments, done, there } of tables) {
    const { canvas, percent, rows, bytes } = strips.get(table);
    percent.textContent = segments === 0 ? "–" : percentText(done, segments);
    rows.textContent = whole.format(there.rows);
    bytes.textContent = sizeText(Number(there.bytes)).join(" ");
    canvas.setAttribute("aria-label", table + ": " + whole.format(done) + " of " + whole.format(segments) + " segments are loaded");
  }
}

function percentText(done, all) {
  const share = (done / all) * 100;
  return (done === all ? "100" : Math.min(99.9, Math.floor(share * 10) / 10).toFixed(1)) + " %";
}

/** Loaded units fill a column from below; units in flight or failed take its full height. */
function draw() {
  if (picture === undefined) return;
  const [there, missing, underway, failed] = ["there", "missing", "underway", "failed"].map(color);
  const scale = window.devicePixelRatio || 1;
  for (const row of picture.rows) {
    const canvas = strips.get(row.table)?.canvas;
    if (canvas === undefined) continue;
    const width = Math.max(1, Math.round(canvas.clientWidth * scale));
    const height = Math.max(1, Math.round(canvas.clientHeight * scale));
    if (canvas.width !== width || canvas.height !== height) {
      canvas.width = width;
      canvas.height = height;
    }
    const pen = canvas.getContext("2d");
    pen.fillStyle = missing;
    pen.fillRect(0, 0, width, height);
    const at = (column) => Math.round((column * width) / picture.columns);
    pen.fillStyle = there;
    row.there.forEach((percent, column) => {
      const high = percent === 0 ? 0 : percent === 100 ? height : Math.min(height - scale, Math.max(2 * scale, (height * percent) / 100));
      pen.fillRect(at(column), height - high, Math.max(1, at(column + 1) - at(column)), high);
    });
    const least = Math.round(3 * scale); // A single unit is seen, however long the history.
    const mark = (column, top, high) => pen.fillRect(Math.min(at(column), width - least), top, Math.max(least, at(column + 1) - at(column)), high);
    pen.fillStyle = underway;
    row.underWay.forEach((column) => mark(column, 0, height));
    for (const column of row.failed) { // A bar that is broken in the middle.
      pen.fillStyle = missing;
      mark(column, 0, height);
      pen.fillStyle = failed;
      mark(column, 0, height * 0.36);
      mark(column, height * 0.64, height * 0.36);
    }
  }
  byId("first").textContent = whole.format(picture.fromBlock);
  byId("middle").textContent = whole.format(Math.round((Number(picture.fromBlock) + Number(picture.toBlock)) / 2));
  byId("last").textContent = whole.format(picture.toBlock);
}

/** Describes the column under the pointer. */
function showTip(event) {
  const tip = byId("tip");
  const row = picture?.rows.find(({ table }) => table === event.target.dataset?.table);
  tip.hidden = row === undefined;
  if (row === undefined) return;
  const box = event.target.getBoundingClientRect();
  const column = Math.min(picture.columns - 1, Math.max(0, Math.floor(((event.clientX - box.left) / box.width) * picture.columns)));
  const near = (columns) => columns.some((one) => Math.abs(one - column) * box.width <= 2 * picture.columns || one === column);
  const from = Number(picture.fromBlock) + column * picture.blocksPerColumn;
  const to = Math.min(from + picture.blocksPerColumn - 1, Number(picture.toBlock));
  const percent = row.there[column];
  tip.textContent = row.table + "\nblocks " + blocksText(from, to) + "\n"
    + (percent === 0 ? "missing" : percent === 100 ? "loaded" : percent + " % loaded")
    + (near(row.underWay) ? ", in flight" : "") + (near(row.failed) ? ", failed" : "");
  const left = Math.max(8, Math.min(window.innerWidth - tip.offsetWidth - 8, event.clientX - tip.offsetWidth / 2));
  const above = box.top - tip.offsetHeight - 8;
  tip.style.transform = "translate(" + left + "px," + (above < 8 ? box.bottom + 8 : above) + "px)";
}

addEventListener("pointermove", showTip);
addEventListener("pointerdown", showTip);
addEventListener("scroll", () => { byId("tip").hidden = true; }, { passive: true });
document.addEventListener("pointerleave", () => { byId("tip").hidden = true; });
new ResizeObserver(draw).observe(byId("tables"));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
`;

/**
 * The page's style, whose hash the content security policy names. The four states differ in lightness and form, not in hue
 * alone.
 */
export const pageStyle = `
:root {
  color-scheme: light dark;
  --ground: #f6f6f4; --card: #ffffff; --ink: #1a1c20; --soft: #646a73; --line: #e3e3de;
  --there: #3b74b4; --missing: #ecece8; --underway: #f2b705; --failed: #a11d21; --good: #2e7d5b;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #121417; --card: #1a1d21; --ink: #e7e8ea; --soft: #979da6; --line: #2b2f35;
    --there: #5b93d0; --missing: #2a2e34; --underway: #ffd54a; --failed: #ff6b5e; --good: #5dbb8f;
  }
}
* { box-sizing: border-box; margin: 0; }
[hidden] { display: none !important; }
body {
  background: var(--ground); color: var(--ink);
  font: 15px/1.45 system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif;
  font-variant-numeric: tabular-nums; -webkit-text-size-adjust: 100%;
}
main { max-width: 1240px; margin: 0 auto; padding: 28px 24px 40px; display: grid; gap: 20px; }
h1 { font-size: 22px; line-height: 1.25; font-weight: 650; letter-spacing: -0.01em; overflow-wrap: anywhere; }
h2 { font-size: 15px; font-weight: 600; }
a { color: inherit; text-underline-offset: 3px; }
.soft { color: var(--soft); }
.small { font-size: 13px; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 18px 20px; min-width: 0; }
header { display: flex; gap: 12px 20px; align-items: flex-start; justify-content: space-between; flex-wrap: wrap; }
header > div { min-width: 0; flex: 1 1 16rem; }
#about { overflow-wrap: anywhere; }
#phase {
  display: flex; align-items: center; gap: 8px; padding: 5px 13px 5px 11px; border-radius: 99px;
  background: var(--card); border: 1px solid var(--line); font-size: 14px; font-weight: 550; white-space: nowrap;
}
#phase::before { content: ""; width: 9px; height: 9px; border-radius: 50%; background: var(--soft); }
#phase.syncing::before { background: var(--there); }
#phase.idle::before { background: var(--good); }
#phase.waiting::before { background: var(--underway); }
#phase.lost::before { background: var(--failed); border-radius: 1px; }
.notice { border-left: 4px solid var(--underway); overflow-wrap: anywhere; }
.notice.bad { border-left-color: var(--failed); }
body.stale #figures, body.stale #coverage, body.stale #underway { opacity: 0.5; }

#figures { padding: 0; overflow: hidden; }
#figures dl { display: grid; grid-template-columns: repeat(5, minmax(0, 1fr)); }
#figures dl > div { padding: 16px 20px 15px; }
#figures dl > div + div { border-left: 1px solid var(--line); }
#figures dt { color: var(--soft); font-size: 13px; }
#figures dd.big { font-size: 25px; line-height: 1.3; font-weight: 600; letter-spacing: -0.015em; white-space: nowrap; }
#figures dd.big small { font-size: 15px; font-weight: 500; color: var(--soft); letter-spacing: 0; margin-left: 0.2em; }
#bar { height: 4px; background: var(--missing); }
#bar i { display: block; height: 100%; width: 0; background: var(--there); transition: width 0.6s; }

.head { display: flex; flex-wrap: wrap; gap: 6px 20px; align-items: baseline; justify-content: space-between; margin-bottom: 12px; }
.legend { display: flex; flex-wrap: wrap; gap: 4px 16px; list-style: none; padding: 0; font-size: 13px; color: var(--soft); }
.legend li { display: flex; align-items: center; gap: 7px; }
.legend i { width: 12px; height: 14px; border-radius: 2px; background: var(--there); }
.legend .missing { background: var(--missing); }
.legend .underway { background: var(--underway); }
.legend .failed { background: linear-gradient(var(--failed) 0 5px, var(--card) 5px 9px, var(--failed) 9px); }
.row { display: grid; grid-template-columns: 11.5rem minmax(0, 1fr) 3.4rem 7.2rem 5.6rem; gap: 0 14px; align-items: center; padding: 3px 0; }
.row.labels, .row.axis { color: var(--soft); font-size: 13px; }
.row.axis div { display: flex; justify-content: space-between; }
.row .name { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.row .number { text-align: right; white-space: nowrap; }
canvas { display: block; width: 100%; height: 18px; border-radius: 3px; touch-action: pan-y; cursor: crosshair; }
#tip {
  position: fixed; z-index: 1; left: 0; top: 0; max-width: 280px; padding: 7px 11px; border-radius: 7px; pointer-events: none;
  background: var(--ink); color: var(--ground); font-size: 13px; line-height: 1.4; white-space: pre-line;
}

.columns { display: grid; grid-template-columns: minmax(0, 6fr) minmax(0, 5fr); gap: 20px; align-items: start; }
.columns > div { display: grid; gap: 20px; min-width: 0; }
.list { list-style: none; padding: 0; }
.list > li { padding: 9px 0; border-top: 1px solid var(--line); overflow-wrap: anywhere; }
.list > li:last-child { padding-bottom: 0; }
.line { display: flex; flex-wrap: wrap; gap: 0 14px; justify-content: space-between; }
#underway li, #queue li { padding: 5px 0; border: 0; }
.unit { display: grid; grid-template-columns: 10.4rem minmax(0, auto) minmax(0, 1fr) auto 3rem; gap: 0 14px; align-items: baseline; }
.unit .where { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.unit .number { text-align: right; white-space: nowrap; }
.kind { font-weight: 550; color: var(--failed); }
footer { display: flex; flex-wrap: wrap; gap: 4px 16px; color: var(--soft); font-size: 13px; }

@media (max-width: 820px) {
  main { padding: 18px 14px 28px; gap: 14px; }
  .card { padding: 15px 16px; }
  #figures dl { grid-template-columns: repeat(2, minmax(0, 1fr)); }
  #figures dl > div { padding: 12px 16px; }
  #figures dl > div + div { border-left: 0; }
  #figures dl > div:nth-child(even) { border-left: 1px solid var(--line); }
  #figures dl > div:nth-child(n + 2) { border-top: 1px solid var(--line); }
  #figures dl > div:first-child { grid-column: 1 / -1; }
  #figures dl > div:nth-child(even) { border-left: 0; }
  #figures dl > div:nth-child(odd):not(:first-child) { border-left: 1px solid var(--line); }
  #figures dd.big { font-size: 20px; }
  .columns { grid-template-columns: minmax(0, 1fr); gap: 14px; }
  .columns > div { gap: 14px; }
  .unit { grid-template-columns: minmax(0, 1fr) auto 3.4rem; }
  .unit .soft.small { order: 1; grid-column: 1 / -1; }
  .unit .soft.small + .soft.small:empty { display: none; }
  .row { grid-template-columns: minmax(0, 1fr) auto auto; gap: 3px 12px; padding: 6px 0; }
  .row.labels { display: none; }
  .row .rows { order: 1; color: var(--soft); font-size: 13px; }
  .row .percent { order: 2; min-width: 3.2rem; }
  .row canvas, .row.axis div { order: 3; grid-column: 1 / -1; }
  .row .bytes, .row.axis span:empty { display: none; }
}
`;

/** The page's script, whose hash the content security policy also names. */
export const pageScript = `"use strict";\n${drawing}${script}`;

const section = (id: string, title: string, content: string) =>
  `<section class="card" id="${id}"><div class="head"><h2>${title}</h2></div>${content}</section>`;

const figure = (id: string, title: string) =>
  `<div><dt>${title}</dt><dd class="big" id="${id}">–</dd><dd class="small soft" id="${id}-more">&nbsp;</dd></div>`;

/** The page: one document that loads nothing but `/state`. Values are inserted as text only. */
export const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>tradewire sync</title>
<link rel="icon" href="data:,">
<style>${pageStyle}</style>
</head>
<body>
<main>
<header>
<div><h1 id="chain">tradewire sync</h1><p class="soft" id="about">&nbsp;</p></div>
<p id="phase" role="status">Connecting</p>
</header>
<p class="card notice bad" id="lost" hidden></p>
<p class="card notice" id="waiting" hidden></p>
<p class="card notice" id="lagging" hidden></p>
<section class="card" id="figures" aria-label="Figures">
<dl>
${figure("done", "Done")}
${figure("speed", "Arriving")}
${figure("rows", "Rows")}
${figure("lag", "Behind the node")}
${figure("left", "Time left")}
</dl>
<div id="bar"><i></i></div>
</section>
<section class="card" id="coverage">
<div class="head"><h2>Coverage</h2>
<ul class="legend"><li><i></i>loaded</li><li><i class="missing"></i>missing</li><li><i class="underway"></i>in flight</li>
<li><i class="failed"></i>failed</li></ul></div>
<div class="row labels"><span>Table</span><span>Blocks</span><span class="number">Done</span>
<span class="number">Rows</span><span class="number">CSV</span></div>
<div id="tables"></div>
<div class="row axis"><span></span><div><span id="first"></span><span id="middle"></span><span id="last"></span></div></div>
</section>
<div class="columns">
<div>
${section("underway", "In flight", '<ul class="list"></ul>')}
</div>
<div>
${section("errors", "Last errors", '<ul class="list"></ul>')}
${section("nodes", "Nodes", '<ul class="list"></ul>')}
${section("queue", "Queue", '<ul class="list"></ul>')}
${section("unknown", "Not known to this release", '<ul class="list"></ul>')}
</div>
</div>
<footer><span id="updated"></span><a href="/state">state as JSON</a><a href="/metrics">metrics</a></footer>
</main>
<div id="tip" hidden></div>
<noscript>This page needs JavaScript; /state and /metrics do not.</noscript>
<script>${pageScript}</script>
</body>
</html>
`;
