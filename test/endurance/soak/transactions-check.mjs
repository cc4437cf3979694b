// Whether what was said of transactions is what the node's blocks hold: each at most once, and those that were executed once.
import { createReadStream } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fromBinary } from "@bufbuild/protobuf";
import { transactionHash } from "../../../compiled/src/trade/transaction/signature.js";
import { readInputData } from "../../../compiled/src/trade/transaction/submitted-input-data.js";
import { TransactionSchema } from "../../../dist/gen/vega/commands/v1/transaction_pb.js";
import { referencesIn } from "./commands.mjs";

/** Compare what was said with the blocks. */
export async function checkTransactions(paths, folder) {
  const mistakes = [];
  const blocks = await readBlocks(folder, mistakes);
  const said = {};
  let found = 0;
  for (const path of paths) {
    for (const line of (await readFile(path, "utf8")).split("\n").filter((each) => each !== "")) {
      const each = JSON.parse(line);
      const name =
        each.status === undefined ? each.error : each.inBlock ? each.status : `${each.status}, by what it left`;
      said[name] = (said[name] ?? 0) + 1;
      const hashes = new Set(each.references.flatMap((reference) => blocks.get(reference) ?? []));
      found += hashes.size;
      const expected = expectedOf(each);
      if (hashes.size > 1 || (expected !== undefined && hashes.size !== expected)) {
        mistakes.push(`${each.references[0]}, of which was said "${name}", is in ${hashes.size} transactions`);
      }
      if (each.hash !== undefined && hashes.size === 1 && !hashes.has(each.hash)) {
        mistakes.push(`${each.references[0]} has another hash than ${each.hash}`);
      }
      if (each.mayHaveBeenTaken === true) {
        mistakes.push(`${each.references[0]} was refused as one that was sent before`);
      }
      for (const reference of each.references) {
        blocks.delete(reference);
      }
    }
  }
  for (const reference of blocks.keys()) {
    mistakes.push(`${reference} is in a block, and nothing was said of it`);
  }
  return { said, found, mistakes };
}

/** In how many transactions of the blocks a command is; undefined where that cannot be known. */
function expectedOf({ status, inBlock, error, mayHaveBeenSent, mayFail }) {
  if (status === "unknown" || error === "OutcomeUnknownError" || mayHaveBeenSent === true) {
    return undefined;
  }
  if (status === "failed" && !inBlock && mayFail) {
    return undefined; // No block took it, or its order was found, and was refused.
  }
  return status === "executed" || inBlock ? 1 : 0;
}

/** The hashes of the transactions that hold each reference. */
async function readBlocks(folder, mistakes) {
  const hashes = new Map();
  const tids = new Set();
  for await (const line of createInterface({ input: createReadStream(join(folder, "blocks.jsonl")) })) {
    for (const text of JSON.parse(line).transactions ?? []) {
      const bytes = Buffer.from(text, "base64");
      const transaction = fromBinary(TransactionSchema, bytes);
      const { tid } = transaction.pow;
      if (tids.size === tids.add(tid).size) {
        mistakes.push(`the tid ${tid} is in the blocks twice`);
      }
      for (const reference of referencesIn(readInputData(transaction).command)) {
        hashes.set(reference, [...(hashes.get(reference) ?? []), transactionHash(transaction)]);
      }
    }
  }
  return hashes;
}
