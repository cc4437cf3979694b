// The programs that use the entries which browsers can load: what they get, and how they are bundled.
import { readFile } from "node:fs/promises";
import { buffer } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";
import { ZipFile } from "yazl";
import { edgeSignatures } from "./edge-signatures.mjs";

/** The entries, by the name of their program. */
export const entries = ["api", "csv", "archive", "transaction"];

const pathOf = (name) => fileURLToPath(new URL(`programs/${name}.mjs`, import.meta.url));

async function zipOf(files, compress) {
  const zip = new ZipFile();
  for (const [name, content] of Object.entries(files)) {
    zip.addBuffer(Buffer.from(content), name, { compress, mtime: new Date(1980, 0, 1) });
  }
  zip.end();
  return buffer(zip.outputStream);
}

/** Returns an archive of which one byte is another. */
function damaged(archive, at) {
  const copy = Buffer.from(archive);
  copy[at] ^= 1;
  return copy;
}

/** Returns what the programs are called with. */
export async function createInput() {
  const rows = Array.from({ length: 2000 }, (_, index) => `${index},"text ""${index}"" é",\n`).join("");
  const files = {
    "local-1-trades-1-1000.csv": `id,text,nothing\n${rows}`,
    "local-1-trades-1001-2000.csv": "id,more\n1,\n",
  };
  const [deflated, stored] = await Promise.all([zipOf(files, true), zipOf(files, false)]);
  const archives = [
    deflated,
    stored,
    damaged(deflated, 1000),
    damaged(stored, 1000),
    damaged(deflated, 14), // The CRC-32 in the header of the first file.
    deflated.subarray(0, -30),
    deflated.subarray(0, 5000),
    await zipOf({ "../local-1-trades-1-1000.csv": "id\n" }, true).catch(() => Buffer.from("PK")),
  ];
  const vectors = JSON.parse(await readFile(new URL("../network/recorded/vectors.json", import.meta.url), "utf8"));
  const { transaction, answer } = vectors.transactions.find((each) => each.answer.txHash !== "");
  return {
    archives: archives.map((archive) => archive.toString("base64")),
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
