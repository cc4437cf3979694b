// What works without reading an archive: the names of archives and of the files in them.
import { archiveName, csvName, openArchive, parseArchiveName, parseCsvName, tableNames } from "tradewire/archive";

export default async function run() {
  const name = { chainId: "chain-1", table: "trades", fromBlock: 1n, toBlock: 1000n };
  const names = [archiveName(name), csvName(name)];
  const text = (value) => JSON.stringify(value, (_, each) => (typeof each === "bigint" ? String(each) : each));
  return {
    names,
    parsed: [text(parseArchiveName(names[0])), text(parseCsvName(names[1]))],
    tables: tableNames,
    opens: typeof openArchive,
  };
}
