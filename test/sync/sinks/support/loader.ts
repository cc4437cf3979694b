/** Loads units into a sink until it is killed; several may run at once. Arguments: kind, folder, segments. */
import { duckdbSink, parquetSink } from "tradewire/sync";
import { columnsOf, fetchOf, opening, plainly, rowOf, unitAt } from "./units.js";

const [kind, folder = "", segments] = process.argv.slice(2);
/** Rows of a segment. */
const ROWS = 500;

const sink = kind === "parquet" ? parquetSink(`${folder}/out`) : duckdbSink(`${folder}/a.duckdb`);
await sink.open(opening(["orders"]));
process.stdout.write("open\n");
for (let segment = 1; segment <= Number(segments); segment += 1) {
  // Every third unit replaces what is there.
  const unit = unitAt("orders", segment, segment % 3 === 0 ? { segmentId: `other-${process.pid}` } : {});
  const rows = Array.from({ length: ROWS }, (_, row) =>
    rowOf("orders", { seq_num: String(segment * 100_000 + row), reference: unit.segmentId }),
  );
  const { outcome } = await sink.load(unit, fetchOf(columnsOf("orders"), rows), plainly(segment % 3 === 0));
  process.stdout.write(`${segment} ${outcome}\n`);
}
await sink[Symbol.asyncDispose]();
process.stdout.write("done\n");
