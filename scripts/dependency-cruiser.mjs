// The rooms of src/, and what each may import beside itself. `cli` has a rule of its own below.
const rooms = {
  base: [], // Errors, clocks and randomness, signals, checks of input, files, HTTP servers.
  wire: ["base"], // Configuration, JSON, HTTP rules, transports, tracing.
  data: ["base", "wire"], // Exports: archives, CSV, tables, history, listings, the ledger.
  trade: ["base", "wire", "data"], // Transactions and what is observed of them: outcomes, intents, state, policies, keys.
  client: ["base", "wire", "data", "trade"], // Puts the others together.
  sync: ["base", "wire", "data"], // History into tables.
  node: ["base", "wire", "data", "trade"], // The local node.
};

// The command uses what any user of the package can import, the modules of small helpers, and these modules.
const innerModulesOfCommand = {
  // The command reads a configuration's file once for several arguments, completes values, and prints the table of keys.
  "wire/config": ["config-files", "config-schema", "config-sources", "load-config", "loopback", "proxy"],
  // It saves, prints and compares as the methods of the client do, with progress, and over any method.
  "data/archive": ["open-archive", "row-filter", "save-archive"],
  "data/csv": ["csv-format", "encode-csv"],
  "base/file": ["atomic-file", "device", "read-file", "save-target"],
  // It selects blocks and rows before it prints them.
  "data/history": ["block-times", "data-node-lag", "export-request", "segments", "select-blocks"],
  "data/listing": ["listing-filters", "paging-method"],
  // `--watch` decides which of two records is older as an account does.
  "trade/live": ["event-types", "listed-blocks", "next-segments", "reconnect"],
  // Records are found by codes and short identifiers, and their numbers are decimal, as the client has them.
  "trade/market": ["decimal", "field-units", "record-names"],
  base: ["profile"],
  "data/schema": ["table-names", "time-text"],
  "data/zip": ["archive-source"],
  // `query` prints what databases and nodes answer.
  "sync/query": ["sources"],
  // `schema --for-sync` prints the SQL of the sinks, and a sync of the command shows a divergence before it fails.
  // `export --estimate` estimates the exports of a range without a sync.
  sync: [
    "coverage",
    "divergence",
    "estimate",
    "sync-options",
    "sinks/duckdb/duckdb-tables",
    "sinks/postgres/postgres-tables",
    "sinks/postgres/postgres-views",
    "sink-columns",
  ],
  // `sign`, `submit --check` and `verify` take the steps of a submission one by one, and explain each.
  "trade/transaction": [
    "deadline",
    "input-data",
    "signature",
    "signing-chain",
    "submission",
    "submitted-input-data",
    "verify-transaction",
  ],
  // `call` calls methods of any definitions.
  "wire/http-rule": ["http-rule", "request-fields"],
  "wire/transport": ["library-errors", "method", "transport"],
};

/** The files of a folder of src/. */
const inFolder = (name) => `^src/${name}/`;
const GENERATED = "^gen/";

const ofRooms = Object.entries(rooms).map(([name, known]) => ({
  name: `${name}-knows`,
  comment: `src/${name} may know: ${["gen", ...known].join(", ")}`,
  severity: "error",
  from: { path: inFolder(name) },
  to: { path: "^(src|gen|test|bench)/", pathNot: [GENERATED, ...[name, ...known].map(inFolder)] },
}));

/** @type {import("dependency-cruiser").IConfiguration} */
export default {
  forbidden: [
    {
      name: "no-circle",
      comment: "Two files that need each other are one file, or lack a third. Types count too.",
      severity: "error",
      from: {},
      to: { circular: true },
    },
    {
      name: "gen-knows",
      comment: "Generated code knows nothing of ours.",
      severity: "error",
      from: { path: GENERATED },
      to: { path: "^src/" },
    },
    ...ofRooms,
    {
      name: "no-circle-of-folders",
      comment: "Folders of a room that need each other are one folder, or lack a third.",
      severity: "error",
      scope: "folder",
      from: { path: "^src/[^/]+/[^/]+$" },
      to: { circular: true, path: "^src/[^/]+/[^/]+$" },
    },
    {
      name: "cli-entries",
      comment: "The command uses public entries, small helpers, and the inner modules listed above.",
      severity: "error",
      from: { path: inFolder("cli") },
      to: {
        path: "^(src|gen|test|bench)/",
        pathNot: [
          GENERATED,
          inFolder("cli"),
          "^src/((data/archive|data/csv|node|sync|trade/transaction|wire/transport)/)?index\\.ts$",
          ...["base/errors", "base/input", "base/runtime", "base/signal", "wire/json"].map(inFolder),
          ...Object.entries(innerModulesOfCommand).map(
            ([name, modules]) => `^src/${name}/(${modules.join("|")})\\.ts$`,
          ),
        ],
      },
    },
    {
      name: "devnode-pure",
      comment: "The local node shares names, ranges and checks; what calls a node is not for it.",
      severity: "error",
      from: { path: inFolder("node") },
      to: {
        path: "^src/(data/(history/(create-export|export-request|save-in-parts)|ledger/ledger-export|archive/(open-archive|merge-archives|save-archive))|trade/transaction/(transactions|block-allowance|signer|key-file|mnemonic))\\.ts$",
      },
    },
    {
      name: "one-transport-each",
      comment: "Only the registry knows transports by their folders, and none knows another.",
      severity: "error",
      from: { path: "^src/wire/transport/([^/]+)/" },
      to: { path: "^src/wire/transport/(grpc|grpc-js|rest)/", pathNot: "^src/wire/transport/$1/" },
    },
    {
      name: "light-library",
      comment: "Who uses the library loads neither the local node nor the definitions of the whole interface.",
      severity: "error",
      from: { path: "^src/((client|wire/transport)/)?index\\.ts$" },
      to: { path: "^src/(client/api|node|cli)/" },
    },
    {
      name: "light-opentelemetry",
      comment: "Tracing loads only the keys of a call's context, clocks and checks of options. Types cost nothing.",
      severity: "error",
      from: { path: inFolder("wire/opentelemetry") },
      to: {
        path: "^(src|gen)/",
        pathNot: [
          inFolder("wire/opentelemetry"),
          inFolder("base/runtime"),
          "^src/wire/transport/call-context\\.ts$",
          "^src/base/input/assert\\.ts$",
        ],
        dependencyTypesNot: ["type-only"],
      },
    },
    {
      name: "light-faces",
      comment: "Who needs archives, CSV or transactions alone loads nothing that calls a node.",
      severity: "error",
      from: { path: "^src/(data/archive|data/csv|trade/transaction)/index\\.ts$" },
      to: {
        path: "^src/(wire/(config|http-rule|transport)|data/(history|listing|ledger)|trade/live|sync)/",
        reachable: true,
      },
    },
    {
      name: "unresolved",
      comment: "An import that leads nowhere.",
      severity: "error",
      from: {},
      to: { couldNotResolve: true },
    },
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    exclude: { path: "^dist/" },
    tsPreCompilationDeps: true, // Imports of types are edges too.
    tsConfig: { fileName: "tsconfig.json" },
    enhancedResolveOptions: { exportsFields: ["exports"], conditionNames: ["import", "types", "node"] },
  },
};
