// Runs a bundled program in a process without Node's globals: the file and the input are arguments. Prints the result as JSON.
import { readFile, writeFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";

const [program, inputFile, outputFile] = process.argv.slice(2);
const input = JSON.parse(await readFile(inputFile, "utf8"));
const { href } = pathToFileURL(program);
for (const name of ["process", "Buffer", "setImmediate", "clearImmediate", "global"]) {
  delete globalThis[name];
}
const { default: run } = await import(href);
await writeFile(outputFile, JSON.stringify(await run(input)));
