/** What `npm run bench` writes to docs/bench/results.json, as far as it is read here. */
export interface Results {
  readonly [group: string]: {
    readonly date: string;
    readonly busy?: number;
    readonly sections: readonly {
      readonly title: string;
      readonly rows: readonly { readonly name: string; readonly rate: number }[];
    }[];
  };
}

/** The libraries for Node that do what tradewire does. */
const LIBRARIES = ["connect-node", "@grpc/grpc-js", "nice-grpc", "undici", "node:http", "fetch", "got"];

/** Returns the README's line about speed: the range of all sections of a group, of its quiet and of its busy run. */
export function speedLine(results: Results): string {
  const runs = ["export", "export-busy", "calls", "calls-busy"].flatMap((name) => results[name] ?? []);
  const [date = ""] = runs.map((run) => run.date.slice(0, 10)).sort();
  const busy = runs.some((run) => (run.busy ?? 0) > 0) ? ", on an idle and on a busy machine" : "";
  const ratios = [
    `exports ${rangeOf(results, "export", "gRPC")} and ${rangeOf(results, "export", "REST")}`,
    `small calls ${rangeOf(results, "calls", "gRPC")} and ${rangeOf(results, "calls", "REST")}`,
  ];
  return `**Speed** is relative to the fastest other library for Node, which is named; higher is better. [Measured](docs/bench/README.md) on ${date}${busy}: ${ratios.join("; ")}.`;
}

/** Returns the ratios of rates to those of the fastest library, and the library that came nearest. */
function rangeOf(results: Results, group: string, protocol: "gRPC" | "REST"): string {
  const ratios = [group, `${group}-busy`]
    .flatMap((name) => results[name]?.sections ?? [])
    .filter(({ title }) => title.startsWith(protocol))
    .flatMap(({ rows }) => {
      const own = rows.find(({ name }) => name === protocol.toLowerCase());
      const [fastest] = rows.filter(({ name }) => LIBRARIES.includes(name)).sort((a, b) => b.rate - a.rate);
      return own && fastest ? [{ ratio: own.rate / fastest.rate, name: fastest.name }] : [];
    })
    .sort((a, b) => a.ratio - b.ratio);
  const [least, most] = [ratios[0], ratios.at(-1)].map((each) => each?.ratio.toFixed(2));
  const range = least === most ? least : `${least} to ${most}`;
  return `${range} over ${protocol} (\`${ratios[0]?.name}\`)`;
}
