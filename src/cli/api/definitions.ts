import { createRegistry, type DescFile, type DescMethod, type DescService, type Registry } from "@bufbuild/protobuf";
import { closestName } from "../../base/errors/error-text.js";
import { RequestError } from "../../base/errors/index.js";
import { type OptionValues, text } from "../declarations.js";

/** The definitions of an interface: the network's, or the user's. */
export interface Definitions {
  /** The services, in the order in which they are listed. */
  readonly services: readonly DescService[];
  /** All types, which an `Any` may hold and which can be described. */
  readonly registry: Registry;
}

/** The options of commands that choose definitions. */
export const definitionsOptions = {
  proto: text("<path>", "your own definitions: a Buf image, a descriptor set, or a folder of .proto files (needs buf)"),
};

/** The values of {@link definitionsOptions}. */
export type DefinitionSources = Partial<OptionValues<typeof definitionsOptions>>;

/**
 * Loads definitions: the network's, or those of an image or a folder.
 *
 * @throws {@link FileError} if a file cannot be read
 * @throws {@link RequestError} if a file contains no valid definitions or rules
 */
export async function loadDefinitions({ proto }: DefinitionSources, signal: AbortSignal): Promise<Definitions> {
  return proto === undefined ? await networkDefinitions() : await imageDefinitions(proto, signal);
}

async function imageDefinitions(path: string, signal: AbortSignal): Promise<Definitions> {
  const { readImage } = await import("./descriptor-set.js");
  const registry = await readImage(path, signal);
  return { services: [...registry].filter((desc) => desc.kind === "service"), registry };
}

export function methodsOf({ services }: Definitions): DescMethod[] {
  return services.flatMap(({ methods }) => methods);
}

/**
 * Returns whether another method of the same name takes precedence over this one. This applies to methods of the core state
 * service, which few nodes offer.
 */
export function yields({ parent }: DescMethod): boolean {
  return parent.typeName === "vega.api.v1.CoreStateService";
}

async function networkDefinitions(): Promise<Definitions> {
  const [{ TradingDataService }, { CoreService }, { CoreStateService }] = await Promise.all([
    import("../../../gen/datanode/api/v2/trading_data_pb.js"),
    import("../../../gen/vega/api/v1/core_pb.js"),
    import("../../../gen/vega/api/v1/corestate_pb.js"),
  ]);
  const services = [TradingDataService, CoreService, CoreStateService];
  const files = new Set<DescFile>();
  const add = (file: DescFile): void => {
    if (!files.has(file)) {
      files.add(file);
      file.dependencies.forEach(add);
    }
  };
  for (const { file } of services) {
    add(file);
  }
  return { services, registry: createRegistry(...files) };
}

/** Something that can be found by name. */
export interface Named<T> {
  /** The full name, such as `datanode.api.v2.TradingDataService/ListMarkets`. */
  readonly name: string;
  readonly item: T;
  /** Whether a single other candidate with the same end of its name takes precedence. */
  readonly yields?: boolean;
}

/** The maximum number of names that an error lists. */
const MAX_LISTED = 20;

/**
 * Finds something by its full name, or by the last parts of its name. A name in a different case is accepted if there
 * is no exact match.
 *
 * @throws {@link RequestError} if several have it, with all of them
 */
export function lookUpName<T>(
  wantedName: string,
  candidates: readonly Named<T>[],
  onChoice: (sentence: string) => void,
): Named<T> | undefined {
  const wanted = dottedName(wantedName);
  const lower = wanted.toLowerCase();
  const matchers = [
    (name: string) => name === wanted,
    (name: string) => name.endsWith(`.${wanted}`),
    (name: string) => name.toLowerCase() === lower,
    (name: string) => name.toLowerCase().endsWith(`.${lower}`),
  ];
  for (const matches of matchers) {
    const found = candidates.filter(({ name }) => matches(dotted(name)));
    const [first, ...others] = found.toSorted((a, b) => Number(a.yields === true) - Number(b.yields === true));
    if (first !== undefined && others.every((other) => other.yields === true && first.yields !== true)) {
      if (others.length > 0) {
        onChoice(`Using ${first.name}. For ${listed(others)}, use the full name.`);
      }
      return first;
    }
    if (found.length > 1) {
      throw new RequestError(`${JSON.stringify(wantedName)} is ambiguous: ${found.length} names end with it`, {
        advice: `Choose ${listed(found)}.`,
      });
    }
  }
  return undefined;
}

export function nameNotFound(
  name: string,
  candidates: readonly Named<unknown>[],
  kind: string,
  note = "",
): RequestError {
  const wanted = dottedName(name);
  const parts = wanted.split(".").length;
  const end = (candidate: string) => dotted(candidate).split(".").slice(-parts).join(".");
  const ends = candidates.map((candidate) => end(candidate.name));
  const near = closestName(wanted, ends);
  const meant = near === undefined ? [] : candidates.filter((candidate) => end(candidate.name) === near);
  const advice =
    meant.length > 0
      ? `Did you mean ${listed(meant)}?`
      : "List all methods with `tradewire methods`; for another API, add --proto.";
  return new RequestError(`unknown ${kind} ${JSON.stringify(name)}`, {
    advice: note === "" ? advice : `${advice} ${note}`,
  });
}

function dottedName(name: string): string {
  return dotted(name.replace(/^[./]/, ""));
}

function dotted(name: string): string {
  return name.replaceAll("/", ".");
}

function listed(found: readonly Named<unknown>[]): string {
  const names = found.slice(0, MAX_LISTED).map(({ name }) => name);
  return `${names.join(" or ")}${found.length > MAX_LISTED ? " or …" : ""}`;
}
