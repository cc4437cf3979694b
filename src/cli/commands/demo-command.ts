import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { ProtocolError } from "../../base/errors/index.js";
import { monotonicMs } from "../../base/runtime/index.js";
import { type ClientConfig, createClient, type SavedExport } from "../../index.js";
import { startDevnode } from "../../node/index.js";
import { defineCommand } from "../declarations.js";
import { size } from "../formatting.js";
import { toOption } from "../shared-options.js";

/** The range that the demonstration exports. The schema version changes within it. */
const REQUEST = { table: "trades", fromBlock: 2001, toBlock: 5000 } as const;

const demoOptions = { to: toOption("a folder (default: a new temporary folder)") };

/** Defines the command `demo`, which exports the same range from a local node over gRPC and over REST. */
export const addDemo = defineCommand(demoOptions, async (options, { out, signal }) => {
  const folder = options.to === undefined ? await mkdtemp(join(tmpdir(), "tradewire-demo-")) : resolve(options.to);
  await using node = await startDevnode({ signal });
  out.write(`Started a local node: gRPC on ${node.grpcUrl}, REST on ${node.restUrl}.\n`);
  out.write(`Exporting ${REQUEST.table}, blocks ${REQUEST.fromBlock} to ${REQUEST.toBlock}:\n`);

  const save = async (config: ClientConfig & { readonly transport: string }): Promise<SavedExport> => {
    await using client = createClient(config);
    const start = monotonicMs();
    const target = join(folder, config.transport, "/");
    const saved = await client.exportNetworkHistory(REQUEST, { signal }).saveTo(target, { force: true });
    const milliseconds = Math.round(monotonicMs() - start);
    out.write(`  over ${config.transport}: ${saved.path}\n`);
    out.write(`    ${size(saved.bytes)} in ${milliseconds} ms, SHA-256 ${saved.sha256}\n`);
    return saved;
  };
  const grpc = await save({ transport: "grpc", grpc: { url: node.grpcUrl } });
  const rest = await save({ transport: "rest", rest: { url: node.restUrl } });
  if (grpc.sha256 !== rest.sha256) {
    throw new ProtocolError("the archives differ", { advice: "This is a bug; please report it." });
  }
  out.write("Both archives are identical and contain:\n");
  await using client = createClient({ transport: "grpc", grpc: { url: node.grpcUrl } });
  const zip = await client.exportNetworkHistory(REQUEST, { signal }).toZip();
  for (const file of Object.values(zip.files)) {
    const csv = await file.async("string");
    out.write(`  ${file.name}: ${countRows(csv)} rows of ${columnsOf(csv).length} columns\n`);
    out.write(`    ${columnsOf(csv).join(", ")}\n`);
  }
});

function columnsOf(csv: string): string[] {
  return csv.slice(0, csv.indexOf("\n")).split(",");
}

/** Counts the rows of a CSV file: the line feeds outside quotes, except that of the header. */
function countRows(csv: string): number {
  return csv.replace(/"[^"]*"/g, "").split("\n").length - 2;
}
