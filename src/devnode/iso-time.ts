const ISO = /^(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d(?::\d\d)?)(?:\.(\d{1,9}))?(Z|[+-]\d\d(?::?\d\d)?)?)?$/;

/**
 * Read a time in ISO 8601, as PostgreSQL writes it too.
 *
 * @param text a date, and a time of the day where it is not midnight; in UTC where no zone is named
 * @returns Unix nanoseconds; undefined where the text is no time, or there is no such day
 */
export function isoNanoseconds(text: string): bigint | undefined {
  const [, day = "", clock = "00:00", fraction = "", zone = "Z"] = ISO.exec(text) ?? [];
  const offset = /^[+-]\d\d$/.test(zone) ? `${zone}:00` : zone.replace(/^([+-]\d\d)(\d\d)$/, "$1:$2");
  const milliseconds = Date.parse(`${day}T${clock}${offset}`);
  return Number.isNaN(milliseconds) || !isDay(day)
    ? undefined
    : BigInt(milliseconds) * 1_000_000n + BigInt(fraction.padEnd(9, "0"));
}

/** Whether there is such a day. JavaScript takes February 30 for March 2. */
const isDay = (day: string) => new Date(`${day}T00:00:00Z`).toISOString().startsWith(day);
