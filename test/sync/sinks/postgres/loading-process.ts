// A process that loads blocks 1 to 10, and has sent half of them: it tells so, and waits until it is killed.
import { postgresSink } from "../../../../src/sync/sinks/postgres/postgres-sink.js";
import { blocksCsv, fetchOf, openingOf, unitOf } from "../../../support/units.js";

const sink = postgresSink(process.argv[2] ?? "");
await sink.open(openingOf());
const fetch = fetchOf(blocksCsv(1, 10), 2, (part) => {
  if (part === 1) {
    process.send?.("half");
    return new Promise(() => undefined);
  }
  return undefined;
});
await sink.load(unitOf("blocks", 1, 10), fetch, { replace: false, signal: new AbortController().signal });
