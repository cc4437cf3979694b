/** What PostgreSQL's `numeric` takes, but for NaN and infinity. */
const NUMERIC = /^\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d{1,3})?\s*$/i;

/**
 * Write a number as PostgreSQL writes a `numeric`: no sign for zero, no zeros before the first digit, all decimals kept.
 *
 * @param text the number
 * @param scale the number of decimals, where the type says; what is behind them is rounded, halves away from zero
 * @returns the text; `undefined` where it is no number
 *
 * @example
 * numericText("007.50"); // "7.50"
 * numericText("0.00125", 4); // "0.0013"
 */
export function numericText(text: string, scale?: number): string | undefined {
  if (!NUMERIC.test(text)) {
    return undefined;
  }
  const plain = withoutExponent(
    text
      .trim()
      .replace(/^\+/, "")
      .replace(/^(-?)\./, "$10.")
      .replace(/\.(?=e|$)/i, ""),
  );
  const negative = plain.startsWith("-");
  const [whole = "", fraction = ""] = plain.replace("-", "").split(".");
  const [rounded, decimals] = scale === undefined ? [BigInt(whole || "0"), fraction] : round(whole, fraction, scale);
  const digits = `${rounded}${decimals === "" ? "" : `.${decimals}`}`;
  return negative && /[1-9]/.test(digits) ? `-${digits}` : digits;
}

function round(whole: string, fraction: string, scale: number): [whole: bigint, decimals: string] {
  const kept = BigInt(`0${whole}${fraction.slice(0, scale).padEnd(scale, "0")}`);
  const units = (fraction[scale] ?? "0") >= "5" ? kept + 1n : kept;
  const digits = String(units).padStart(scale + 1, "0");
  return scale === 0 ? [units, ""] : [BigInt(digits.slice(0, -scale)), digits.slice(-scale)];
}

/**
 * Write a floating-point number as PostgreSQL writes a `float8`: the shortest text that reads back the same, with an
 * exponent of at least two digits below 1e-4 and from 1e15 on. Beyond 2^53 PostgreSQL writes a digit more now and then.
 *
 * @param number the number
 * @returns its text
 */
export function float8Text(number: number): string {
  if (!Number.isFinite(number)) {
    return String(number);
  }
  if (Object.is(number, -0)) {
    return "-0";
  }
  const [digits = "", exponent = "0"] = number.toExponential().split("e");
  const power = Number(exponent);
  if (number !== 0 && (power < -4 || power >= 15)) {
    return `${digits}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
  }
  return withoutExponent(String(number));
}

/**
 * Write a decimal number without an exponent.
 *
 * @param number such as `1.5e-7` or `2e+21`; PostgreSQL takes the form as `numeric`
 * @returns such as `0.00000015`
 */
export function withoutExponent(number: string): string {
  const [, sign = "", whole = "", fraction = "", exponent] = /^(-?)(\d*)\.?(\d*)(?:e([+-]?\d+))?$/i.exec(number) ?? [];
  if (exponent === undefined) {
    return number;
  }
  const digits = whole + fraction;
  const point = whole.length + Number(exponent);
  if (point >= digits.length) {
    return sign + digits.padEnd(point, "0");
  }
  return point > 0
    ? `${sign}${digits.slice(0, point)}.${digits.slice(point)}`
    : `${sign}0.${"0".repeat(-point)}${digits}`;
}
