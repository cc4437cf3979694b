/** The part of the page's script that draws the coverage. */
export const drawing = String.raw`
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
