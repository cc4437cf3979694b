// Decoders of CSV, with the CSV on standard input: node bench/peers/csv.mjs DECODER. Prints the number of rows.
// DuckDB reads a file, which is given behind its name.
const [decoder, file] = process.argv.slice(2);

const decoders = {
  async "csv-parse"() {
    const { parse } = await import("csv-parse");
    let rows = 0;
    for await (const _ of process.stdin.pipe(parse({ from: 2 }))) {
      rows += 1;
    }
    return rows;
  },
  async papaparse() {
    const { default: papa } = await import("papaparse");
    let rows = -1;
    await new Promise((resolve, reject) => {
      papa.parse(process.stdin, {
        skipEmptyLines: true,
        chunk: ({ data }) => {
          rows += data.length;
        },
        complete: resolve,
        error: reject,
      });
    });
    return rows;
  },
  async udsv() {
    const { inferSchema, initParser } = await import("udsv");
    const decoder = new TextDecoder();
    let rows = 0;
    let parser;
    for await (const chunk of process.stdin) {
      const text = decoder.decode(chunk, { stream: true });
      parser ??= initParser(inferSchema(text));
      parser.chunk(text, parser.stringArrs, () => {
        rows += 1;
        return true;
      });
    }
    parser.end();
    return rows;
  },
  async duckdb() {
    const { DuckDBInstance } = await import("@duckdb/node-api");
    const connection = await (await DuckDBInstance.create()).connect();
    await connection.run(`CREATE TABLE trades AS FROM read_csv('${file}', all_varchar = true)`);
    const reader = await connection.runAndReadAll("SELECT count(*) FROM trades");
    return Number(reader.getRows()[0][0]);
  },
};

console.log(await decoders[decoder]());
process.exit();
