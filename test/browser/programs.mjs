// The programs that use the entries which browsers can load: what they get, and how they are bundled.
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";
import { edgeSignatures } from "./edge-signatures.mjs";

/** The entries, by the name of their program. */
export const entries = ["api", "csv", "archive", "transaction"];

const pathOf = (name) => fileURLToPath(new URL(`programs/${name}.mjs`, import.meta.url));

/** Returns what the programs are called with. */
export async function createInput() {
  const vectors = JSON.parse(await readFile(new URL("../network/recorded/vectors.json", import.meta.url), "utf8"));
  const { transaction, answer } = vectors.transactions.find((each) => each.answer.txHash !== "");
  return {
    recorded: transaction,
    recordedHash: answer.txHash,
    signatures: edgeSignatures(),
  };
}

/** Joins a program with the packages that it needs to one file for browsers. Returns its code. */
export async function bundleProgram(name) {
  const bundle = await rolldown({ input: pathOf(name), platform: "browser", logLevel: "silent" });
  const { output } = await bundle.generate({ format: "esm", minify: true, codeSplitting: false });
  await bundle.close();
  return output[0].code;
}

/** Runs a program in this process. */
export async function runHere(name, input) {
  const { default: run } = await import(pathOf(name));
  return JSON.parse(JSON.stringify(await run(input)));
}
