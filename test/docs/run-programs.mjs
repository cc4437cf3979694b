// Runs programs one after the other in one process, and prints a JSON object a line of what became of each.
// Arguments: the programs' files; one that ends in ":on", which runs until it is stopped, is run until it prints something.
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";

/** How long a program is run that does not end by itself, and prints nothing, in milliseconds. */
const RUNS_ON_MS = 1500;
/** How long another program may take. */
const LIMIT_MS = 120_000;

async function whilePrinting() {
  const until = performance.now() + RUNS_ON_MS;
  while (lines === 0 && performance.now() < until) {
    await sleep(20);
  }
  return "runs on";
}

const tell = (result) => process.stdout.write(`${JSON.stringify(result)}\n`);
let lines = 0;
for (const name of ["log", "warn", "error"]) {
  console[name] = () => {
    lines += 1;
  };
}
for (const argument of process.argv.slice(2)) {
  const file = argument.replace(/:on$/, "");
  lines = 0;
  const ran = import(new URL(file, `${pathToFileURL(process.cwd())}/`).href).then(
    () => "ended",
    (error) => `failed: ${error?.stack ?? error}`,
  );
  const end = await Promise.race([ran, argument === file ? sleep(LIMIT_MS, "is under way") : whilePrinting()]);
  tell({ file, end });
}
process.exit();
