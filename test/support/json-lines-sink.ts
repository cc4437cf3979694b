import { fileURLToPath, pathToFileURL } from "node:url";
import type { TableName } from "tradewire";
import type { Sink } from "tradewire/sync";
import type { ReadRow } from "tradewire/sync/contract";

/** The sink of `examples/own-sink`. */
interface Example {
  jsonLinesSink(folder: string): Sink;
  readRows(folder: string, table: TableName): Promise<readonly ReadRow[]>;
}

const path = fileURLToPath(new URL("../../examples/own-sink/sink.js", import.meta.url));
const example: Example = await import(pathToFileURL(path).href);

export const { jsonLinesSink, readRows } = example;
