import { PGlite } from "@electric-sql/pglite";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import fc from "fast-check";
import {
  createTableSql,
  createTypesSql,
  NEWEST_SCHEMA_VERSION,
  openArchive,
  type TableColumn,
  type TypedValue,
  tableNames,
  tableSchema,
} from "tradewire";
import { text } from "../../support/csv.js";
import { rawZip } from "../../support/raw-zip.js";

// PostgreSQL itself says how its COPY writes values of all types.
let postgres: PGlite;
const schemas = tableNames.map((table) => tableSchema(table, NEWEST_SCHEMA_VERSION));
beforeAll(async () => {
  postgres = await PGlite.create();
  await postgres.exec("set time zone 0");
  for (const statement of [
    ...createTypesSql(schemas, "postgres"),
    ...schemas.map((schema) => createTableSql(schema, "postgres")),
    // Keys are random here, and large rows do not keep their order.
    ...tableNames.map((table) => `alter table ${table} drop constraint ${table}_pkey, add row_number serial`),
  ]) {
    await postgres.exec(statement);
  }
});
afterAll(async () => {
  await postgres.close();
});

/** A value as it is written in SQL, and as it is to come out. */
interface Sample {
  readonly sql: string;
  readonly value: TypedValue;
}

const sample = (sql: string, value: TypedValue = sql): Sample => ({ sql, value });
const whole = (least: bigint, most: bigint) =>
  fc
    .oneof(fc.bigInt({ min: least, max: most }), fc.constantFrom(least, most, 0n))
    .map((value) => sample(String(value), value));
const digits = (most: number) => fc.bigInt({ min: 0n, max: 10n ** BigInt(most) - 1n }).map(String);

/** The microseconds from the year 1 to the end of the year 9999. */
const microseconds = fc.bigInt({ min: -62_135_596_800_000_000n, max: 253_402_300_799_999_999n });
const times = fc
  .oneof(
    microseconds,
    microseconds.map((time) => time - (time % 1_000_000n)), // COPY leaves out zeros at the end.
    microseconds.map((time) => time - (time % 1000n)),
  )
  .map((time) => {
    const part = ((time % 1_000_000n) + 1_000_000n) % 1_000_000n;
    const seconds = new Date(Number((time - part) / 1000n)).toISOString().slice(0, 19);
    return sample(`${seconds}.${String(part).padStart(6, "0")}Z`);
  });

function samplesOf({ type, values, code }: TableColumn): fc.Arbitrary<Sample> {
  if (values !== undefined) {
    return fc.constantFrom(...values).map((value) => sample(value));
  }
  if (code !== undefined) {
    return fc.constantFrom(...Object.entries(code.names)).map(([number, name]) => sample(number, name));
  }
  switch (type) {
    case "int2":
      return whole(-(2n ** 15n), 2n ** 15n - 1n);
    case "int4":
      return whole(-(2n ** 31n), 2n ** 31n - 1n);
    case "int8":
      return whole(-(2n ** 63n), 2n ** 63n - 1n);
    case "hugeint":
      return whole(-(10n ** 1000n) + 1n, 10n ** 1000n - 1n);
    case "numeric":
      return fc.oneof(
        fc.tuple(fc.constantFrom("", "-"), digits(60), digits(40)).map(([sign, a, b]) => sample(`${sign}1${a}.${b}`)),
        fc.constantFrom("0", "7", "NaN", "Infinity", "-Infinity").map((value) => sample(value)),
      );
    case "numeric(1000,16)":
      return fc.tuple(digits(900), digits(16)).map(([a, b]) => sample(`1${a}.${b}`, `1${a}.${b.padEnd(16, "0")}`));
    case "float8":
      return fc.double().map((value) => sample(Object.is(value, -0) ? "-0" : String(value), value));
    case "bool":
      return fc.boolean().map((value) => sample(String(value), value));
    case "text":
      return text.map((value) => sample(value));
    case "bytea":
      return fc.uint8Array({ maxLength: 40 }).map((bytes) => {
        const hex = Buffer.from(bytes).toString("hex");
        return sample(`\\x${hex}`, hex);
      });
    case "timestamptz":
      return times;
    case "jsonb":
      return fc
        .constantFrom('{"a": 9007199254740993.10}', "[]", '"a,\\"b\\"\\n"', "null", '{"é": [1, {"b": false}]}')
        .map((value) => sample(value));
    default:
      throw new Error(`no samples of ${type}`);
  }
}

const literal = ({ sql }: Sample) => `'${sql.replaceAll("'", "''")}'`;

test.each(schemas)("typed rows of $table are what PostgreSQL held", async ({ table, columns }) => {
  const row = fc.tuple(
    ...columns.map((column) => (column.nullable ? fc.option(samplesOf(column), { freq: 4 }) : samplesOf(column))),
  );
  const inOrder = `select ${columns.map(({ name }) => name)} from ${table} order by row_number`;
  await fc.assert(
    fc.asyncProperty(fc.array(row, { minLength: 1, maxLength: 4 }), async (rows) => {
      const tuples = rows.map((samples) => `(${samples.map((one) => (one === null ? "null" : literal(one)))})`);
      await postgres.exec(`truncate ${table}; insert into ${table} values ${tuples}`);
      const { blob } = await postgres.query(`copy (${inOrder}) to '/dev/blob' with (format csv, header)`);
      const content = Buffer.from((await blob?.arrayBuffer()) ?? new ArrayBuffer(0));
      const archive = rawZip([{ name: `chain-1-${table}-116-1-1000.csv`, content }]);
      const read: unknown[] = [];
      for await (const record of openArchive(archive).rows({ typed: true })) {
        read.push(record);
      }
      expect(read).toEqual(
        rows.map((samples) =>
          Object.fromEntries(columns.map(({ name }, index) => [name, samples[index]?.value ?? null])),
        ),
      );
    }),
    { numRuns: 10 },
  );
});
