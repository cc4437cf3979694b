// What each module of src/ may import: itself, and the modules listed. Further rules are below the table.
const modules = {
  api: [],
  errors: [],
  runtime: [], // Clocks, timers and randomness: every module may know it.
  signal: ["errors"],
  input: ["errors"],
  config: ["errors", "input", "schema", "json", "file"],
  json: ["errors", "input"],
  "http-server": [],
  schema: ["errors", "input"],
  // What a sync and a journal check in PostgreSQL, and how they read its values.
  postgres: ["errors"],
  "http-rule": ["errors", "input", "json", "file"],
  transport: ["config", "errors", "input", "json", "http-rule", "signal", "file"],
  // Its import loads little else of ours: of errors it knows their types, and how options are checked.
  opentelemetry: ["errors", "input", "transport"],
  zip: ["errors", "input", "signal"],
  csv: ["errors", "input"],
  file: ["errors", "input"],
  archive: ["errors", "input", "json", "schema", "zip", "csv", "file"],
  history: ["errors", "input", "json", "schema", "signal", "zip", "csv", "file", "archive"],
  listing: ["errors", "input", "json", "signal"],
  // A follow hands out the rows of history, and then those of new segments.
  live: ["errors", "input", "json", "signal", "schema", "csv", "archive", "history", "listing", "transaction"],
  // Decimals, the order book and the account: state that is built from listings and streams.
  market: ["errors", "input", "json", "signal", "listing", "live"],
  ledger: ["errors", "input", "json", "signal", "csv", "file", "listing"],
  transaction: ["errors", "input", "json", "signal", "file"],
  // An intent is a transaction whose outcome is followed until it has one.
  intent: ["errors", "input", "signal", "file", "postgres", "transaction", "live"],
  // A policy is checked against the party's orders, positions and the markets' prices, before anything is signed.
  guard: ["errors", "input", "signal", "listing", "transaction", "live", "market"],
  // A process that signs for others, and what connects to it.
  signer: ["errors", "input", "json", "signal", "http-server", "file", "transaction", "guard"],
  // A lease is renewed by transactions, for the orders and positions that an account shows.
  lease: ["errors", "input", "signal", "transaction", "live", "market"],
  sync: ["errors", "input", "schema", "signal", "http-server", "zip", "csv", "file", "postgres", "archive", "history"],
  devnode: [
    "errors",
    "input",
    "json",
    "schema",
    "http-rule",
    "http-server",
    "zip",
    "csv",
    "file",
    "archive",
    "history",
    "ledger",
    "transaction",
  ],
  // The client puts the modules together.
  client: [
    "errors",
    "input",
    "signal",
    "config",
    "schema",
    "history",
    "listing",
    "ledger",
    "live",
    "intent",
    "lease",
    "guard",
    "market",
    "transaction",
    "transport",
  ],
};

// The command uses what any user of the package can import, the modules of small helpers, and these modules.
const innerModulesOfCommand = {
  // The command reads a configuration's file once for several arguments, completes values, and prints the table of keys.
  config: ["config-files", "config-schema", "config-sources", "load-config", "loopback", "proxy"],
  // It saves, prints and compares as the methods of the client do, with progress, and over any method.
  archive: ["open-archive", "save-archive"],
  csv: ["csv-format", "encode-csv"],
  file: ["atomic-file", "bounded-file", "device", "save-target", "trusted-file"],
  history: ["data-node-lag", "export-request", "segments"],
  listing: ["paging-method"],
  // `--watch` decides which of two records is older as an account does.
  live: ["event-types", "follow-cursor", "reconnect", "record-age"],
  schema: ["profile", "table-names"],
  zip: ["archive-source"],
  // `schema --for-sync` prints the SQL of the sinks, and a sync of the command shows a divergence before it fails.
  sync: [
    "divergence",
    "sync-options",
    "sinks/duckdb/duckdb-tables",
    "sinks/postgres/postgres-tables",
    "sinks/sink-columns",
  ],
  // `sign`, `submit --check` and `verify` take the steps of a submission one by one, and explain each.
  transaction: ["deadline", "input-data", "signature", "signing-chain", "submission", "verify-transaction"],
  // `call` calls methods of any definitions.
  "http-rule": ["http-rule", "request-fields"],
  transport: ["layers/library-errors", "method", "transport"],
};

/** The files of a module, and what every module may know. */
const inModule = (name) => `^src/${name}/`;
const GENERATED = "^gen/";
const RUNTIME = inModule("runtime");

const ofModules = Object.entries(modules).map(([name, known]) => ({
  name: `${name}-knows`,
  comment: `src/${name} may know: gen, runtime${known.map((other) => `, ${other}`).join("")}`,
  severity: "error",
  from: { path: inModule(name) },
  to: {
    path: "^(src|gen|test|bench)/",
    pathNot: [GENERATED, RUNTIME, inModule(name), ...known.map(inModule)],
  },
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
    ...ofModules,
    {
      name: "new-module",
      comment: "A module is entered in the table above before something is put into it.",
      severity: "error",
      from: { path: "^src/([^/]+)/", pathNot: [...Object.keys(modules), "cli"].map(inModule) },
      to: {},
    },
    {
      name: "cli-entries",
      comment: "The command uses public entries, small helpers, and the inner modules listed above.",
      severity: "error",
      from: { path: inModule("cli") },
      to: {
        path: "^(src|gen|test|bench)/",
        pathNot: [
          GENERATED,
          inModule("cli"),
          "^src/((archive|csv|devnode|sync|transaction|transport)/)?index\\.ts$",
          ...["errors", "input", "json", "runtime", "signal"].map(inModule),
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
      from: { path: inModule("devnode") },
      to: {
        path: "^src/(history/(create-export|export-request|save-in-parts)|ledger/ledger-export|archive/(open-archive|merge-archives|save-archive)|transaction/(transactions|block-allowance|signer|key-file|mnemonic))\\.ts$",
      },
    },
    {
      name: "one-transport-each",
      comment: "Only the registry knows transports by their folders, and none knows another.",
      severity: "error",
      from: { path: "^src/transport/([^/]+)/" },
      to: { path: "^src/transport/(grpc|grpc-js|rest)/", pathNot: "^src/transport/$1/" },
    },
    {
      name: "light-library",
      comment: "Who uses the library loads neither the local node nor the definitions of the whole interface.",
      severity: "error",
      from: { path: "^src/((client|transport)/)?index\\.ts$" },
      to: { path: "^src/(api|devnode|cli)/" },
    },
    {
      name: "light-opentelemetry",
      comment: "Tracing loads only the keys of a call's context, clocks and checks of options. Types cost nothing.",
      severity: "error",
      from: { path: inModule("opentelemetry") },
      to: {
        path: "^(src|gen)/",
        pathNot: [inModule("opentelemetry"), RUNTIME, "^src/transport/call-context\\.ts$", "^src/input/assert\\.ts$"],
        dependencyTypesNot: ["type-only"],
      },
    },
    {
      name: "light-faces",
      comment: "Who needs archives, CSV or transactions alone loads nothing that calls a node.",
      severity: "error",
      from: { path: "^src/(archive|csv|transaction)/index\\.ts$" },
      to: { path: "^src/(config|http-rule|transport|history|listing|live|ledger|sync)/", reachable: true },
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
