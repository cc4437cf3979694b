// A process that loads blocks 1 to 10. Once it has sent half of them it tells so, and waits until it is killed, unless it
// is to send the whole.
import { postgresSink } from "tradewire/sync";
import { blocksCsv, fetchOf, openingOf, unitOf } from "../../../support/units.js";

const [url = "", extent] = process.argv.slice(2);
const sink = postgresSink(url);
await sink.open(openingOf());
const fetch = fetchOf(blocksCsv(1, 10), 2, (part) => {
  if (part === 1 && extent !== "whole") {
    process.send?.("half");
    return new Promise(() => undefined);
  }
  return undefined;
});
await sink.load(unitOf("blocks", 1, 10), fetch, { replace: false, signal: new AbortController().signal });
