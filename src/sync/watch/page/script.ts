/** The part of the page's script that requests the state, and shows its figures and lists. */
export const script = `
const EVERY_MS = 1000;
const WAIT_MS = 10000;
const MOST_UNITS = 12;
const PHASES = { starting: "Starting", syncing: "Syncing", waiting: "Waiting", idle: "Up to date" };

function sizeText(bytes) {
  let [value, unit] = [bytes, 0];
  for (; value >= 999.5 && unit < 5; unit += 1) value /= 1024;
  return [unit === 0 ? String(Math.round(value)) : value >= 99.5 ? value.toFixed(0) : value.toFixed(1), ["B", "KiB", "MiB", "GiB", "TiB", "PiB"][unit]];
}

function timeText(seconds) {
  if (seconds < 59.5) return [String(Math.round(seconds)), "s"];
  if (seconds < 5970) return [String(Math.round(seconds / 60)), "min"];
  if (seconds < 172800) return [(seconds / 3600).toFixed(1), "h"];
  return [whole.format(Math.round(seconds / 86400)), "days"];
}

const compact = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 4 });
const short = (number) => (Number(number) < 1e6 ? whole : compact).format(number);
const clock = (iso) => new Date(iso).toLocaleTimeString("en-GB");
const count = (number, one) => whole.format(number) + " " + one + (Number(number) === 1 ? "" : "s");

function figure(id, [value, unit], more) {
  byId(id).replaceChildren(value, ...(unit ? [element("small", "", unit)] : []));
  byId(id + "-more").textContent = more;
}

/** Shows a list, or that it is empty; without a text for that, an empty one is not shown. */
function list(id, items, empty) {
  byId(id).hidden = items.length === 0 && empty === undefined;
  byId(id).querySelector("ul").replaceChildren(...(items.length > 0 ? items : [element("li", "soft", empty ?? "")]));
}

const line = (...parts) => element("div", "line", ...parts);
const soft = (text) => element("div", "small soft", text);

function showFigures({ total, lag, secondsLeft, phase }) {
  const { rates, there, loaded } = total;
  const busy = total.segments > 0;
  figure("done", busy && Number(total.gapBlocks) === 0 ? [percentText(total.done, total.segments).slice(0, -2), "%"] : ["–"],
    busy ? whole.format(total.done) + " of " + whole.format(total.segments) + " segments of tables" : "no plan yet");
  byId("bar").firstElementChild.style.width = (busy ? (total.done / total.segments) * 100 : 0) + "%";
  const [speed, unit] = sizeText(rates.bytes);
  const waits = phase === "waiting";
  figure("speed", waits ? ["–"] : [speed, unit + "/s"], sizeText(Number(loaded.bytes)).join(" ") + " so far");
  figure("rows", waits ? ["–"] : [short(Math.round(rates.rows)), "rows/s"], short(there.rows) + " rows loaded");
  figure("lag", lag ? [short(lag.blocks), Number(lag.blocks) === 1 ? "block" : "blocks"] : ["–"],
    lag === undefined ? (waits ? "not known while it waits" : "") : Number(lag.blocks) === 0 ? "nothing newer was seen" : "seen " + timeText(lag.seconds).join(" ") + " ago");
  const known = secondsLeft !== undefined && busy;
  figure("left", known ? (total.missing === 0 ? ["none"] : timeText(secondsLeft)) : ["–"],
    (total.missing > 0 ? whole.format(total.missing) + " missing" : busy && Number(total.gapBlocks) === 0 ? "nothing is missing" : "")
      + (Number(total.gapBlocks) > 0 ? (total.missing > 0 ? ", " : "") + short(total.gapBlocks) + " missing blocks on no node" : ""));
}

function showErrors(errors, errorCounts) {
  const all = Object.values(errorCounts).reduce((sum, number) => sum + number, 0);
  byId("errors").querySelector("h2").textContent = all > errors.length ? "Last " + errors.length + " of " + whole.format(all) + " errors" : "Last errors";
  list("errors", errors.map((error) => {
    const { kind, at, unit, message, advice, attempt, againAt, count } = error;
    const tries = unit === undefined ? "" : (attempt > 1 ? "attempt " + attempt + ", " : "")
      + (againAt === undefined ? "failed" : "next attempt at " + clock(againAt));
    return element("li", "", line(element("span", "kind small", kind), element("span", "small soft", (count > 1 ? whole.format(count) + " times, last at " : "") + clock(at))),
      element("div", "", message), soft(advice),
      ...(unit ? [soft(unit.table + ", blocks " + blocksText(unit.fromBlock, unit.toBlock) + (tries && " · " + tries))] : []));
  }), "No errors.");
}

function show(state) {
  const { chainId, history, nodes, phase, tables, underWay, unknown, waiting, queue, total } = state;
  byId("chain").textContent = chainId ?? "tradewire sync";
  document.title = (total.segments > 0 && Number(total.gapBlocks) === 0 ? percentText(total.done, total.segments) + " · " : "") + (chainId ?? "tradewire sync");
  byId("about").textContent = history === undefined ? "tradewire sync"
    : "tradewire sync · blocks " + blocksText(history.fromBlock, history.toBlock) + " · " + count(history.segments, "segment")
      + " · " + (nodes.length === 1 ? nodes[0].name : count(nodes.length, "node"));
  const phaseBadge = byId("phase");
  phaseBadge.className = phase;
  phaseBadge.textContent = phase === "idle" && total.missing > 0 ? "Idle" : PHASES[phase];
  byId("waiting").hidden = waiting === undefined;
  byId("waiting").replaceChildren(...(waiting === undefined ? [] : [
    element("div", "", waiting.message), soft(waiting.advice + (waiting.againAt ? " Next try at " + clock(waiting.againAt) + "." : ""))]));
  const lagging = nodes.filter(({ lag }) => lag !== undefined && lag.state !== "current");
  byId("lagging").hidden = lagging.length === 0;
  byId("lagging").replaceChildren(...lagging.map(({ name, lag }) => element("div", "", "The data node of " + name + " " + lag.text + ".")));
  showFigures(state);
  showTables(tables);
  picture = state.picture;
  draw();
  list("underway", [...underWay.slice(0, MOST_UNITS).map((unit) => element("li", "unit",
    element("span", "name", unit.table), element("span", "soft small", blocksText(unit.fromBlock, unit.toBlock)),
    element("span", "soft small where", nodes.length > 1 ? unit.node.replace(/^https?:[/][/]/, "") : ""),
    element("span", "number", sizeText(unit.bytes).join(" ")), element("span", "number soft", timeText(unit.seconds).join(" ")))),
    ...(underWay.length > MOST_UNITS ? [element("li", "soft", "and " + whole.format(underWay.length - MOST_UNITS) + " more")] : []),
  ], "Nothing is in flight.");
  list("nodes", nodes.length < 2 ? [] : nodes.map(({ name, rows, bytes, underWay: now }) => element("li", "",
    line(element("span", "", name), element("span", "", sizeText(Number(bytes)).join(" "))), soft(short(rows) + " rows loaded, " + now + " in flight"))));
  list("queue", Object.entries(queue ?? {}).map(([name, number]) => element("li", "", line(element("span", "", name), element("span", "", whole.format(number))))));
  showErrors(state.errors, state.errorCounts);
  list("unknown", unknown.map(({ table, column, value }) => element("li", "", line(element("span", "", table + "." + column), ...(value === undefined ? [] : [element("span", "soft", value)])))));
  byId("updated").textContent = "as of " + clock(state.at) + ", since " + new Date(state.startedAt).toLocaleString("en-GB");
}

let since;
async function ask() {
  try {
    const answer = await fetch("/state", { signal: AbortSignal.timeout(WAIT_MS) });
    if (!answer.ok) throw new Error(String(answer.status));
    const state = await answer.json();
    since = undefined;
    document.body.classList.remove("stale");
    byId("lost").hidden = true;
    show(state);
  } catch (error) {
    since ??= new Date();
    document.body.classList.add("stale");
    byId("lost").hidden = false;
    byId("lost").textContent = "The connection was lost at " + since.toLocaleTimeString("en-GB") + ". The figures are those of then; the page keeps trying.";
    byId("phase").className = "lost";
    byId("phase").textContent = "Connection lost";
  }
}

let timer;
async function watch() {
  clearTimeout(timer);
  timer = undefined;
  if (document.hidden) return; // It goes on when the page is seen again.
  const mine = {};
  watch.turn = mine;
  await ask();
  if (watch.turn === mine) timer = setTimeout(watch, EVERY_MS);
}
document.addEventListener("visibilitychange", watch);
watch();
`;
