import { createRegistry, type DescFile, type DescMethod, type DescService, type Registry } from "@bufbuild/protobuf";

/** The definitions that a command works with. */
export interface Definitions {
  /** The services, in the order in which they are listed. */
  readonly services: readonly DescService[];
  /** All types: what an `Any` may hold, and what can be described. */
  readonly registry: Registry;
}

/**
 * Load the definitions: the network's own, or those of an image or a folder.
 *
 * @param source path of a Buf image, a descriptor set or a folder of `.proto` files; without it, the network's own
 * @param signal ends the reading and compiling of `source`
 * @returns the definitions
 * @throws {@link FileError} if `source` cannot be read
 * @throws {@link RequestError} if `source` holds no sound definitions
 */
export async function loadDefinitions(source: string | undefined, signal: AbortSignal): Promise<Definitions> {
  if (source === undefined) {
    return networkDefinitions();
  }
  const { readImage } = await import("./image.js");
  const registry = await readImage(source, signal);
  return { services: [...registry].filter((desc) => desc.kind === "service"), registry };
}

/**
 * List the methods of all services.
 *
 * @param definitions the definitions
 * @returns the methods, service by service
 */
export function methodsOf({ services }: Definitions): DescMethod[] {
  return services.flatMap(({ methods }) => methods);
}

/**
 * Tell whether a method gives way to another of its name: those of the node's core, which few nodes offer, do.
 *
 * @param method the method
 * @returns whether it does
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
