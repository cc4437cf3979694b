// What it costs to start: importing the library, and the command as a whole process.
const MIB = 2 ** 20;
const BARE = "node, bare";
const COMMAND = "node dist/src/cli/main.js";
const GENERATED = "import of the generated files alone";
const API = ["datanode/api/v2/trading_data", "vega/api/v1/core", "vega/api/v1/corestate"];
/** The most CPU, in ms, that an import may take beyond bare Node. */
const MOST = {
  "import tradewire": 110,
  "import tradewire/transport": 100,
  "import tradewire/sync": 40,
  "import tradewire/csv": 40,
  "import tradewire/archive": 40,
};
const IMPORTS = {
  ...Object.fromEntries([...Object.keys(MOST), "import tradewire/api"].map((name) => [name, name.split(" ")[1]])),
  "import @connectrpc/connect-node": "@connectrpc/connect-node",
  "import @grpc/grpc-js": "@grpc/grpc-js",
  "import pg": "pg",
};

export const title = "Startup";
export const about = "Whole processes, from start to end.";

/** The sections: what comes before any work, and a small export. */
export async function* sections({ quick, open, folder }) {
  const rounds = quick ? 9 : 15;
  const process = { unit: "per second", scale: 1, cpuUnit: "CPU ms", cpuScale: 1000, plot: "cpu", rounds };
  const row = (name, shell, more = {}) => ({
    name,
    shell,
    needs: ["node"],
    amount: 1,
    ours: /tradewire/.test(name),
    ...more,
  });
  yield {
    title: "before any work",
    ...process,
    rows: [
      row(BARE, "node -e ''", { local: true }),
      row("tradewire --version", `${COMMAND} --version`, { local: true }),
      ...Object.entries(IMPORTS).map(([name, module]) =>
        row(name, `node --input-type=module -e 'import "${module}"'`, { local: true }),
      ),
      row(
        GENERATED,
        `node --input-type=module -e '${API.map((file) => `import "tradewire/gen/${file}_pb.js";`).join(" ")}'`,
        { local: true },
      ),
    ],
    goals: ({ of }) => [
      ...Object.entries({ "tradewire --version": 60, ...MOST }).map(([name, most]) => ({
        text: `${name}: ms of CPU more than bare Node`,
        most,
        value: beyondNode(of, name) * 1000,
      })),
      {
        text: `import tradewire/api: CPU beyond Node, relative to ${GENERATED}`,
        most: 1.1,
        value: beyondNode(of, "import tradewire/api") / beyondNode(of, GENERATED),
      },
    ],
  };
  const { url } = await open({ content: "parameter", protocol: "grpc" });
  const call = `getNetworkParameter({ key: "spam.pow.difficulty" })`;
  // Both end by exit(): a transport of connect-node has no function that closes its connection.
  const first = (imports, client) =>
    `node --input-type=module -e '${imports} import { TradingDataService } from "tradewire/gen/datanode/api/v2/trading_data_pb.js"; await ${client}.${call}; process.exit()'`;
  const connect =
    'import { createClient } from "@connectrpc/connect"; import { createGrpcTransport } from "@connectrpc/connect-node";';
  yield {
    title: "a first call over gRPC",
    ...process,
    reference: "connect-node",
    rows: [
      row(BARE, "node -e ''", { local: true }),
      row(
        "tradewire",
        first(
          'import { createClient } from "tradewire";',
          `createClient({ grpc: { url: "${url}" } }).service(TradingDataService)`,
        ),
      ),
      row(
        "connect-node",
        first(connect, `createClient(TradingDataService, createGrpcTransport({ baseUrl: "${url}" }))`),
      ),
    ],
    goals: ({ ratio, of }) => [
      { text: "tradewire: CPU relative to connect-node", most: 1.3, value: ratio("tradewire", "connect-node", "cpu") },
      {
        text: "tradewire: time relative to connect-node",
        most: 1.3,
        value: seconds(of, "tradewire") / seconds(of, "connect-node"),
      },
    ],
  };
  const archive = { content: "archive", method: "stored", csvBytes: MIB, chunkBytes: MIB };
  const grpc = await open({ ...archive, protocol: "grpc" });
  const rest = await open({ ...archive, protocol: "rest" });
  const options = "--table trades --from-block 1 --to-block 1000 --extensions optional --force --to";
  const exported = { grpc: `--grpc-url ${grpc.url}`, rest: `--rest-url ${rest.url}` };
  yield {
    title: "an export of 1 MiB",
    ...process,
    rows: [
      row(BARE, "node -e ''", { local: true }),
      ...Object.entries(exported).map(([transport, url]) =>
        row(`tradewire export, ${transport}`, `${COMMAND} export --transport ${transport} ${url} ${options} ${folder}`),
      ),
      { name: "curl", shell: `curl -sSo ${folder}small.zip ${rest.url}/export`, needs: ["curl"], amount: 1 },
    ],
    goals: ({ of }) =>
      Object.keys(exported).map((transport) => ({
        text: `tradewire export, ${transport}: time relative to curl and bare Node`,
        most: 3,
        value: seconds(of, `tradewire export, ${transport}`) / (seconds(of, "curl") + seconds(of, BARE)),
      })),
  };
}

function beyondNode(of, name) {
  return of(name, "cpu") - of(BARE, "cpu");
}

function seconds(of, name) {
  return of(name, "seconds");
}
