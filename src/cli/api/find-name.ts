import { RequestError } from "../../errors/index.js";
import { nearest } from "../../errors/nearest.js";

/** Something that is found by its name. */
export interface Named<T> {
  /** The full name, such as `datanode.api.v2.TradingDataService/ListMarkets`. */
  readonly name: string;
  readonly item: T;
  /** Whether it gives way to the only other one whose name ends alike. */
  readonly yields?: boolean;
}

/** The most names that an error lists. */
const MAX_LISTED = 20;

/**
 * Find something by its full name, or by the end of its name from any part on. A name in another case is taken where
 * none fits as it is written.
 *
 * @param text the name as the user gave it; a slash is as good as a dot
 * @param candidates what can be found
 * @param kind what it is, for errors, such as `method`
 * @param tell is told, in a sentence, which was taken where others gave way
 * @returns the candidate
 * @throws {@link RequestError} if there is none, naming the nearest, or several, naming all
 */
export function findName<T>(
  text: string,
  candidates: readonly Named<T>[],
  kind: string,
  tell: (sentence: string) => void,
): T {
  const wanted = dotted(text.replace(/^[./]/, ""));
  const lower = wanted.toLowerCase();
  const ways = [
    (name: string) => name === wanted,
    (name: string) => name.endsWith(`.${wanted}`),
    (name: string) => name.toLowerCase() === lower,
    (name: string) => name.toLowerCase().endsWith(`.${lower}`),
  ];
  for (const fits of ways) {
    const found = candidates.filter(({ name }) => fits(dotted(name)));
    const [only, ...others] = found.toSorted((a, b) => Number(a.yields === true) - Number(b.yields === true));
    if (only !== undefined && others.every((other) => other.yields === true && only.yields !== true)) {
      if (others.length > 0) {
        tell(`${only.name} is taken; ${listed(others)} must be named in full.`);
      }
      return only.item;
    }
    if (found.length > 1) {
      throw new RequestError(`${JSON.stringify(text)} is ambiguous: ${found.length} names end with it`, {
        advice: `Choose ${listed(found)}.`,
      });
    }
  }
  const parts = wanted.split(".").length;
  const end = (name: string) => dotted(name).split(".").slice(-parts).join(".");
  const near = nearest(
    wanted,
    candidates.map(({ name }) => end(name)),
  );
  const meant = near === undefined ? [] : candidates.filter(({ name }) => end(name) === near);
  throw new RequestError(`there is no ${kind} ${JSON.stringify(text)}`, {
    advice: meant.length > 0 ? `Did you mean ${listed(meant)}?` : "`tradewire methods` lists all methods.",
  });
}

function dotted(name: string): string {
  return name.replaceAll("/", ".");
}

function listed(found: readonly Named<unknown>[]): string {
  const names = found.slice(0, MAX_LISTED).map(({ name }) => name);
  return `${names.join(" or ")}${found.length > MAX_LISTED ? " or …" : ""}`;
}
