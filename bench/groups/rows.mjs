// An export to rows, as it arrives, beside tools that read CSV from an archive on the disk.
import { execFile } from "node:child_process";
import { promisify } from "node:util";

const MIB = 2 ** 20;
const UNZIP = "unzip -p alone";

export const title = "Exports, to rows";
export const about =
  "A deflated archive of trades becomes arrays of fields as it arrives, with NULL distinct from the empty string. The other libraries read the archive from disk.";

/** The one section. Rates are those of the CSV. */
export async function* sections({ quick, open, folder }) {
  const archive = { content: "archive", method: "deflated", csvBytes: (quick ? 256 : 1024) * MIB, chunkBytes: MIB };
  const grpc = await open({ ...archive, protocol: "grpc" });
  const rest = await open({ ...archive, protocol: "rest" });
  const urls = { grpc: grpc.url, "grpc-js": grpc.url, rest: rest.url };
  const zip = `${folder}trades.zip`;
  await promisify(execFile)("curl", ["-sSo", zip, `${rest.url}/export`]);
  const { csvBytes: amount } = grpc;
  const piped = ["csv-parse", "papaparse", "udsv"];
  const transports = Object.keys(urls);
  yield {
    title: `${Math.round(amount / MIB)} MiB of CSV, ${Math.round(grpc.bytes / MIB)} MiB deflated`,
    unit: "MiB/s of CSV",
    scale: MIB,
    cpuUnit: "CPU s/GiB",
    cpuScale: 1024 * MIB,
    reference: UNZIP,
    rows: [
      ...transports.map((transport) => ({
        name: `${transport}, batches`,
        ours: true,
        peer: ["ours", "rows", { transport, url: urls[transport] }],
        amount,
        expected: grpc.rows,
      })),
      {
        name: "openArchive, batches",
        ours: true,
        peer: ["ours", "archiveRows", { file: zip }],
        amount,
        expected: grpc.rows,
        local: true,
      },
      ...transports.map((transport) => ({
        name: `${transport}, download alone`,
        ours: true,
        peer: ["ours", "bytes", { transport, url: urls[transport] }],
        amount,
        expected: grpc.bytes,
      })),
      { name: UNZIP, shell: `unzip -p ${zip}`, needs: ["unzip"], amount, local: true },
      ...piped.map((decoder) => ({
        name: `unzip -p | ${decoder}`,
        shell: `unzip -p ${zip} | node bench/peers/csv.mjs ${decoder}`,
        needs: ["unzip", "node"],
        amount,
        local: true,
      })),
      {
        name: "unzip && DuckDB's read_csv",
        shell: `unzip -oq ${zip} -d ${folder} && node bench/peers/csv.mjs duckdb ${folder}*.csv`,
        needs: ["unzip", "node"],
        amount,
        local: true,
      },
    ],
    goals: ({ ratio }) =>
      transports.map((transport) => {
        const name = `${transport}, batches`;
        const [unzip, download] = [UNZIP, `${transport}, download alone`].map((other) => ratio(name, other));
        return {
          text: `${transport}: rate relative to the slower of download and unzip -p`,
          least: 0.9,
          value: unzip === undefined ? undefined : Math.max(unzip, download),
        };
      }),
  };
}
