// Runs programs one after the other in one process, and prints a JSON object a line of what became of each.
// Arguments: the programs' files; one that ends in ":on", which runs until it is stopped, is run until it prints something.
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";

/** How often a program that does not end by itself is looked at, until it prints something: longer where it gets less done. */
const LOOKS = 75;
const LOOK_MS = 20;
/** How long another program may take. */
const LIMIT_MS = 600_000;

async function whilePrinting() {
  for (let look = 0; lines === 0 && look < LOOKS; look += 1) {
    await sleep(LOOK_MS);
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
