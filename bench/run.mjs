// Everything that the project promises about speed, beside its peers, in one run.
//
//   npm run bench -- [--quick] [--only GROUP]... [--rounds N] [--beside CHECKOUT] [--busy N] [--out FOLDER]
//
// `npm run bench` builds before. `--beside` measures the build of another checkout in the same rounds, for the terminal alone.
// `--busy` lets so many programs use a processor meanwhile, and runs only the rows that goals compare. Tables go to the terminal;
// results.json, a plot of each group, and a page with all of them to FOLDER (docs/bench). A group that did not run keeps its results
// of before. Where nothing is busy beside it, each of our rows runs once more behind its rounds, for a profile. The exit code is 1
// where a goal was missed.
import { fork, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { loadavg, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { machine } from "./measure/machine.mjs";
import { PROFILED, profileOf } from "./measure/profile.mjs";
import { HOW, page, sectionLines } from "./measure/report.mjs";
import { figuresOf, measure } from "./measure/rounds.mjs";
import { draw } from "./measure/svg.mjs";

/** The groups, in their order, and the scripts that are groups with tables and peers of their own: not for quick runs. */
const groups = ["export", "file", "rows", "memory", "many", "calls", "start", "listings", "growth"];
const scripts = ["parallel", "sync", "events"].filter((name) => existsSync(scriptOf(name)));

const { values } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    only: { type: "string", multiple: true },
    rounds: { type: "string" },
    beside: { type: "string" },
    busy: { type: "string", default: "0" },
    out: { type: "string", default: fileURLToPath(new URL("../docs/bench", import.meta.url)) },
  },
});
const all = [...groups, ...scripts];
const chosen = values.only ?? (values.quick ? groups : all);
const unknown = chosen.find((name) => !all.includes(name));
if (unknown !== undefined) {
  throw new Error(`${unknown} is no group; there are ${all.join(", ")}`);
}

const busy = Array.from({ length: Number(values.busy) }, () => spawn(process.execPath, ["-e", "for (;;);"]));
const server = fork(fileURLToPath(new URL("./server/main.mjs", import.meta.url)));
const serverGone = new AbortController();
server.once("exit", () => serverGone.abort(new Error("the server has ended")));
const folder = `${await mkdtemp(join(tmpdir(), "tradewire-bench-"))}/`;
const context = {
  quick: values.quick,
  folder,
  /** Have the server answer with some content; see `createContent`. */
  open: (content) => ask({ open: content }),
};

async function ask(message) {
  server.send(message);
  const [answer] = await once(server, "message", { signal: serverGone.signal });
  return answer;
}

function scriptOf(name) {
  return fileURLToPath(new URL(`./${name}.mjs`, import.meta.url));
}

const told = (text) => process.stderr.isTTY && process.stderr.write(`\r\x1b[K${text}`);
let missed = 0;
console.log(`${HOW.join("\n")}\n`);
try {
  for (const name of chosen.filter((each) => groups.includes(each))) {
    const { title, about, sections } = await import(`./groups/${name}.mjs`);
    const [load] = loadavg();
    const done = [];
    const profiles = [];
    for await (const section of sections(context)) {
      done.push(await run(section, name));
      told("");
      console.log(sectionLines(done.at(-1)).join("\n"));
      for (const row of busy.length === 0 ? section.rows.filter(({ ours }) => ours) : []) {
        told(`${name}, ${section.title}: profile of ${row.name}`);
        profiles.push(`${section.title}: ${row.name}`, "", ...(await profileOf(row, folder)), "");
        told("");
      }
      missed += done.at(-1).goals.filter(({ met }) => met === false).length;
    }
    const date = new Date().toISOString();
    const facts = { about, date, quick: values.quick, load, busy: busy.length, machine: machine() };
    await write(busy.length === 0 ? name : `${name}-busy`, {
      title: busy.length === 0 ? title : `${title}, with ${busy.length} busy programs`,
      ...facts,
      profiled: profiles.length > 0,
      sections: done.map(({ rows, ...section }) => ({ ...section, rows: rows.filter(({ other }) => !other) })),
    });
    if (profiles.length > 0) {
      await mkdir(join(values.out, "profiles"), { recursive: true });
      await writeFile(
        join(values.out, "profiles", `${name}.txt`),
        [title, "", ...PROFILED, "", ...profiles].join("\n"),
      );
    }
  }
} finally {
  server.disconnect();
  for (const program of busy) {
    program.kill();
  }
  await rm(folder, { recursive: true });
}
for (const name of chosen.filter((each) => scripts.includes(each))) {
  const { status } = spawnSync(process.execPath, [scriptOf(name)], { stdio: "inherit" });
  console.log(status === 0 ? "" : `Left out: ${name}, as bench/${name}.mjs failed.`);
}
console.log(missed === 0 ? "All goals are met." : `${missed} goals are missed.`);
process.exitCode = missed === 0 ? 0 : 1;

/** The rows of a section, and those of the other checkout after each of ours. */
function withOthers(rows) {
  const folder = values.beside && resolve(values.beside);
  const other = (name) => name && `${name}, other checkout`;
  const otherOf = (row) => ({ ...row, name: other(row.name), after: other(row.after), folder, other: true });
  return folder === undefined ? rows : rows.flatMap((row) => [row, ...(row.ours ? [otherOf(row)] : [])]);
}

/** The rows that the goals of a section compare, and its reference. */
function comparedRows(rows, goals, reference) {
  const names = new Set([reference]);
  const noted = (...found) => {
    names.add(found[0]).add(found[1]);
    return 1;
  };
  for (const { ratio = [] } of goals({ of: (name) => noted(name), ratio: noted })) {
    noted(...ratio);
  }
  return rows.filter(({ name }) => names.has(name));
}

/** Run a section, and make figures of its runs. */
async function run({ rows: own, goals = () => [], rounds, scale, cpuScale, ...section }, group) {
  const rows = withOthers(busy.length === 0 ? own : comparedRows(own, goals, section.reference));
  const { runs, absent } = await measure(rows, {
    rounds: Number(values.rounds ?? rounds ?? (values.quick ? 3 : 5)),
    serverCpu: async () => (await ask({})).cpu,
    told: (text) => told(`${group}, ${section.title}: ${text}`),
  });
  const figures = figuresOf(runs);
  return {
    ...section,
    rows: rows
      .filter(({ name }) => runs.has(name))
      .map(({ name, ours = false, local = false, after, other }) => {
        const rates = runs.get(name).map(({ rate }) => rate / scale);
        return {
          name,
          ours,
          other,
          ratio: section.reference === undefined ? undefined : figures.ratio(name, section.reference),
          rate: figures.of(name) / scale,
          span: [Math.min(...rates), Math.max(...rates)],
          cpu: figures.of(name, "cpuEach") * cpuScale,
          peak: figures.of(name, "peak"),
          each: figures.of(name, "each"),
          heapEach: figures.of(name, "heapEach"),
          after,
          server: local ? undefined : figures.of(name, "share"),
        };
      }),
    absent: [...absent].map(([name, why]) => ({ name, why })),
    goals: goals(figures).map(({ ratio, value = figures.ratio(...ratio), ...goal }) => {
      const known = Number.isNaN(value) ? undefined : value; // A row was left out.
      const spread = ratio === undefined ? undefined : figures.spread(...ratio);
      return { ...goal, value: known, spread, met: isMet({ ...goal, value: known }) };
    }),
  };
}

/** Whether a goal is met; undefined where it was not measured, or is there to be known only. */
function isMet({ value, least, most, instead = false }) {
  if (value === undefined || (least === undefined && most === undefined)) {
    return undefined;
  }
  return instead || (value >= (least ?? value) && value <= (most ?? value));
}

/** Put a group's results beside those of the others. */
async function write(name, group) {
  await mkdir(values.out, { recursive: true });
  const path = join(values.out, "results.json");
  const before = existsSync(path) ? JSON.parse(await readFile(path, "utf8")) : {};
  const known = { ...before, [name]: group };
  const names = groups.flatMap((each) => [each, `${each}-busy`]);
  const results = Object.fromEntries(names.filter((each) => each in known).map((each) => [each, known[each]]));
  await writeFile(path, `${JSON.stringify(results, undefined, 2)}\n`);
  await writeFile(join(values.out, `${name}.svg`), draw(group));
  await writeFile(join(values.out, "README.md"), page(results));
}
