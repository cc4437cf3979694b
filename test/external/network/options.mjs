// The command line of the program, and the environment variable that it may be given in place of it.
import { parseArgs } from "node:util";

/** The ports of the network's parts. `comet`, `faucet` and `postgres` may be left out with `none`. */
export const DEFAULT_PORTS = {
  "core-grpc": "33002",
  "core-rest": "33003",
  "data-grpc": "33007",
  "data-rest": "33008",
  faucet: "31790",
  comet: "36657",
  postgres: "35432",
};

const HELP = `npm run test:network -- [OPTIONS]

Tests the client against an existing network of v0.78.0: one validator, a data node, a faucet.

  --host HOST              host of all parts (default 127.0.0.1)
${Object.entries(DEFAULT_PORTS)
  .map(([name, port]) => `${`  --${name} PORT`.padEnd(27)}(default ${port})`)
  .join("\n")}
  --database USER:NAME     user and database of the data node's PostgreSQL (default vega:vega)
  --only PART              run cases whose group or name contains PART; repeatable
  --seconds N              time limit of a case (default 240)
  --minutes N              how long the trading cases of the group events last (default 0.5)
  --record DIR             write requests and answers as JSON files to DIR
  --json                   print one JSON object at the end instead of lines
  --kill-data-node FILE    kill the data node at the end; FILE has its process id, or lines "PID data-node"
  --help

TRADEWIRE_NETWORK=HOST[,NAME=PORT…] sets host and ports, for example 127.0.0.1,core-grpc=3002,comet=none. Flags override it.
faucet, comet and postgres accept "none": the cases that need them are left out.
Exit status: 0 all cases passed; 1 a case failed; 2 no network, or wrong options; 130 interrupted.
`;

/** Wrong options, or a request for help. */
export class UsageError extends Error {}

/**
 * Read the command line and the environment.
 *
 * @throws UsageError with a text for the user
 */
export function readOptions(args, environment) {
  const text = { type: "string" };
  let values;
  try {
    ({ values } = parseArgs({
      args,
      options: {
        host: text,
        ...Object.fromEntries(Object.keys(DEFAULT_PORTS).map((name) => [name, text])),
        database: { ...text, default: "vega:vega" },
        only: { ...text, multiple: true, default: [] },
        seconds: { ...text, default: "240" },
        minutes: { ...text, default: "0.5" },
        record: text,
        json: { type: "boolean", default: false },
        "kill-data-node": text,
        help: { type: "boolean", default: false },
      },
    }));
  } catch (error) {
    throw new UsageError(`${error.message}\n\n${HELP}`);
  }
  if (values.help) {
    throw new UsageError(HELP);
  }
  const [host = "", ...named] = (environment.TRADEWIRE_NETWORK ?? "").split(",");
  const given = Object.fromEntries(named.map((part) => part.split("=")));
  const unknown = Object.keys(given).find((name) => !(name in DEFAULT_PORTS));
  if (unknown !== undefined) {
    throw new UsageError(
      `TRADEWIRE_NETWORK has ${JSON.stringify(unknown)}; known: ${Object.keys(DEFAULT_PORTS).join(", ")}`,
    );
  }
  const ports = Object.entries(DEFAULT_PORTS).map(([name, port]) => {
    const value = values[name] ?? given[name] ?? port;
    return [name, value === "none" ? undefined : positive(value, name)];
  });
  const [user, database] = values.database.split(":");
  return {
    host: values.host ?? (host || "127.0.0.1"),
    ports: Object.fromEntries(ports),
    user,
    database: database ?? user,
    only: values.only,
    limitMs: positive(values.seconds, "seconds") * 1000,
    tradingMs: positive(values.minutes, "minutes") * 60_000,
    record: values.record,
    json: values.json,
    pidFile: values["kill-data-node"],
  };
}

function positive(value, name) {
  const number = Number(value);
  if (!(number > 0)) {
    throw new UsageError(`--${name} is ${JSON.stringify(value)}; give a positive number`);
  }
  return number;
}
