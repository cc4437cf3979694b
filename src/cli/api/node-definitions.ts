import { ConnectionError, RequestError, TradewireError } from "../../base/errors/index.js";
import { transportsOf } from "../../wire/config/config-schema.js";
import { throwingOurErrors } from "../../wire/transport/library-errors.js";
import { failingCall } from "../../wire/transport/transport.js";
import { commandClient } from "../client.js";
import { type ClientOptions, clientConfig } from "../client-options.js";
import type { CommandContext } from "../output.js";
import {
  type DefinitionSources,
  type Definitions,
  loadDefinitions,
  lookUpName,
  type Named,
  nameNotFound,
} from "./definitions.js";

/** The options of a command that looks names up in definitions, also in those of a node. */
type Options = DefinitionSources & ClientOptions;

/** The result of a search, and its definitions. */
interface Found<T> {
  readonly item: T;
  readonly definitions: Definitions;
}

/**
 * Finds a definition by name. With `--proto`, it searches only those definitions. Otherwise it searches the network's, and then
 * those that the node offers with server reflection.
 *
 * @throws {@link RequestError} if nothing has the name, or several things have it
 * @throws {@link ProtocolError} if the node's definitions are invalid
 */
export async function findDefined<T>(
  name: string,
  kind: string,
  candidatesOf: (definitions: Definitions) => Named<T>[],
  options: Options,
  context: CommandContext,
): Promise<Found<T>> {
  const onChoice = (sentence: string) => context.notes.write(`${sentence}\n`);
  const definitions = await loadDefinitions(options, context.signal);
  const found = lookUpName(name, candidatesOf(definitions), onChoice);
  if (found !== undefined) {
    return { item: found.item, definitions };
  }
  if (options.proto !== undefined) {
    throw nameNotFound(name, candidatesOf(definitions), kind);
  }
  const reflected = await addNodeDefinitions(definitions, options, context).catch((reason: unknown) => {
    // What breaks the rules is an error of its own; a node that cannot be asked is not.
    if (context.signal.aborted || !(reason instanceof TradewireError) || reason.name === "ProtocolError") {
      throw reason;
    }
    // Without a node of the user's choice, a misspelled name is all that is wrong.
    const isUnreachable = reason instanceof ConnectionError && !reason.connected;
    const note = isUnreachable ? undefined : `The node's own definitions cannot be read: ${reason.summary}.`;
    throw nameNotFound(name, candidatesOf(definitions), kind, note);
  });
  const more = reflected ?? definitions;
  const other = lookUpName(name, candidatesOf(more), onChoice);
  if (other === undefined) {
    throw nameNotFound(name, candidatesOf(more), kind);
  }
  return { item: other.item, definitions: more };
}

/**
 * Adds the definitions that a node offers with server reflection, over gRPC.
 *
 * @throws {@link TradewireError} if the node cannot be queried, or its definitions are invalid
 */
export async function addNodeDefinitions(
  definitions: Definitions,
  options: Options,
  context: CommandContext,
): Promise<Definitions | undefined> {
  const choice = transportsOf(clientConfig(options, context).transport);
  const transport = choice.filter((name) => name === "grpc" || name === "grpc-js");
  if (transport.length === 0) {
    throw new RequestError("server reflection needs gRPC, and no gRPC URL is configured", {
      advice: "Set --grpc-url, or provide the definitions with --proto.",
    });
  }
  const config = clientConfig({ ...options, transport }, context);
  await using client = commandClient(options, context, { config });
  const { reflectDefinitions } = await import("./server-reflection.js");
  const timeoutMs = config.timeouts.callMs;
  return await reflectDefinitions(throwingOurErrors(client.transport, failingCall(config)), definitions, {
    signal: context.signal,
    timeoutMs,
  });
}
