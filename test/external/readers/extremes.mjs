// 200 extreme numbers of each type of a column, as PostgreSQL writes them in CSV.
import { createHash } from "node:crypto";

const COUNT = 200;

/** Returns pseudo-random digits, the same for the same seed. */
function digits(seed, count) {
  let text = "";
  for (let round = 0; text.length < count; round += 1) {
    text += BigInt(`0x${createHash("sha256").update(`${seed}/${round}`).digest("hex")}`);
  }
  return text.slice(0, count);
}

/** PostgreSQL has no negative zero but in floating-point numbers. */
const distinct = (texts) => [...new Set(texts)].filter((text) => !/^-0([.]0*)?$/.test(text)).slice(0, COUNT);
const signed = (texts) => texts.flatMap((text) => [text, `-${text}`]);

/** Returns integers from `least` to `most`: both ends, powers of 2 and of 10 with their neighbors, and random ones. */
function integers(least, most) {
  const inside = (value) => least <= value && value <= most;
  const width = String(most).length;
  const powers = [2n, 10n].flatMap((base) => Array.from({ length: 256 }, (_, index) => base ** BigInt(index)));
  const near = [width - 1, 1].flatMap((end) => powers.filter((power) => String(power).length === end));
  const random = Array.from({ length: 600 }, (_, index) => BigInt(digits(`${most}/${index}`, (index % width) + 1)));
  const whole = [
    0n,
    most,
    most - 1n,
    least,
    least + 1n,
    ...near,
    ...powers.filter((_, index) => index % 9 === 0),
    ...random,
  ];
  return distinct(
    whole
      .flatMap((value) => [value, -value, value + 1n, 1n - value])
      .filter(inside)
      .map(String),
  );
}

/** Returns decimals that no `DOUBLE` holds, and those that no decimal type of a fixed size holds. */
function decimals() {
  const random = Array.from({ length: 150 }, (_, index) => {
    const [whole, fraction] = [digits(`w${index}`, (index * 7) % 120), digits(`f${index}`, (index * 5) % 110)];
    return `${BigInt(`0${whole}`)}${fraction === "" ? "" : `.${fraction}`}`;
  });
  const tiny = [20, 100, 308, 323, 324, 400].map((zeros) => `0.${"0".repeat(zeros)}1`);
  const large = [15, 16, 17, 38, 39, 77, 308, 309, 400].map((zeros) => `1${"0".repeat(zeros)}`);
  const near = ["0.1", "0.30000000000000004", "9007199254740993", "1.7976931348623159", "449774.99999999999999"];
  return distinct([
    "0",
    "NaN",
    "Infinity",
    "-Infinity",
    "0.000",
    "1.500",
    ...signed([...near, ...tiny, ...large, ...random]),
  ]);
}

/** Returns decimals with up to 16 decimal places, as PostgreSQL writes `numeric(1000,16)`. */
function fractions() {
  return distinct([
    "NaN",
    ...signed(
      Array.from(
        { length: 120 },
        (_, index) => `${BigInt(`0${digits(`n${index}`, index)}`)}.${digits(`d${index}`, 16)}`,
      ),
    ),
  ]);
}

/** Returns floating-point numbers, in the shortest form that is read as the same number. */
function floats() {
  const bytes = Buffer.alloc(8);
  const random = Array.from({ length: 400 }, (_, index) => {
    createHash("sha256").update(`${index}`).digest().copy(bytes, 0, 0, 8);
    return Math.abs(bytes.readDoubleBE());
  }).filter(Number.isFinite);
  const known = [5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, 0.1, 1 / 3, 2 ** 53, 1e15, 1e16, 123456.789];
  const texts = [...known, ...random].map((value) => String(value).replace(/e-(\d)$/, "e-0$1"));
  return distinct(["0", "NaN", "Infinity", "-Infinity", ...signed(texts)]);
}

const AMOUNT = 10n ** 38n - 1n;
const ANY = 2n ** 256n - 1n;
const power = (bits) => 2n ** BigInt(bits - 1);

const VALUES = {
  int2: integers(-power(16), power(16) - 1n),
  int4: integers(-power(32), power(32) - 1n),
  int8: integers(-power(64), power(64) - 1n),
  amount: integers(-AMOUNT, AMOUNT),
  anySize: integers(-ANY, ANY),
  numeric: decimals(),
  "numeric(1000,16)": fractions(),
  float8: floats(),
};

/** Returns the numbers for a column; `undefined` if it holds no number. */
export function extremesOf({ type, holds, anySize }) {
  return holds === "code" ? undefined : VALUES[type === "hugeint" ? (anySize ? "anySize" : "amount") : type];
}
