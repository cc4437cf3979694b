/** The types of PostgreSQL whose values are parsed, by their oid. All other values are text. */
const PARSERS: ReadonlyMap<number, (text: string) => unknown> = new Map<number, (text: string) => unknown>([
  [16, (text) => text === "t"], // bool
  ...[21, 23, 26, 700, 701].map((oid) => [oid, Number] as const), // int2, int4, oid, float4, float8
  [114, JSON.parse], // json
  [3802, JSON.parse], // jsonb
]);

/**
 * How values of PostgreSQL are parsed for statements of this library. The program may change the parsers of `pg`, which all
 * connections in the process share otherwise.
 */
export const valueTypes = {
  getTypeParser(oid: number, format?: string): (value: unknown) => unknown {
    return (value) => {
      if (format === "binary") {
        throw new TypeError("the PostgreSQL connection returns values in the binary format, which is not supported");
      }
      const text = String(value);
      const parse = PARSERS.get(oid);
      return parse === undefined ? text : parse(text);
    };
  },
};
