// Reads the rows of archives, given as bytes and as a stream, and refuses damaged ones and paths.
import { openArchive } from "tradewire/archive";
import { collect } from "./collect.mjs";

async function read(source, options) {
  const rows = [];
  const files = [];
  try {
    for await (const file of openArchive(source, options).files()) {
      for await (const row of file.rows()) {
        rows.push(row);
      }
      files.push({ name: file.name, size: file.size, compressedSize: file.compressedSize, crc32: file.crc32 });
    }
  } catch (reason) {
    return { error: reason.message }; // How many rows come before an error is not the same everywhere.
  }
  return { rows, files };
}

async function* stream(bytes) {
  for (let at = 0; at < bytes.length; at += 100) {
    yield bytes.subarray(at, at + 100);
  }
}

/** @param archives the bytes of archives, as base64 */
export default async function run({ archives }) {
  const results = [];
  for (const text of archives) {
    const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
    const union = await collect(openArchive(stream(bytes)).rows({ columns: "union" })).catch(({ message }) => message);
    const zip = await openArchive(bytes)
      .toZip()
      .then((loaded) => Object.keys(loaded.files))
      .catch(({ message }) => message);
    results.push({ bytes: await read(bytes), stream: await read(stream(bytes)), union, zip });
  }
  return results;
}
