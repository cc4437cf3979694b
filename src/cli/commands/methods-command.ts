import type { Command } from "commander";
import { RequestError } from "../../errors/index.js";
import { type Definitions, definitionsOptions, loadDefinitions, methodsOf } from "../api/definitions.js";
import { describables, describedObject, describedText, methodCells, methodObject } from "../api/describe.js";
import { addNodeDefinitions, findDefined } from "../api/node-definitions.js";
import { type ClientOptions, clientOptions } from "../client-options.js";
import { addOptions, flag, type OptionValues } from "../declarations.js";
import { type CommandContext, json, printable, writeOut } from "../output.js";
import { parsePattern } from "../parsers.js";
import { createTables, fitTable, printTable } from "../table.js";

const describeOptions = { ...definitionsOptions, json: flag("print one JSON object"), ...clientOptions };
const methodsOptions = {
  ...describeOptions,
  reflection: flag("also list the methods that the node offers with gRPC server reflection", { conflicts: ["proto"] }),
};

type DescribeOptions = OptionValues<typeof describeOptions> & ClientOptions;
type MethodsOptions = OptionValues<typeof methodsOptions> & ClientOptions;

/**
 * Defines the command `methods`, which lists the methods that can be called.
 *
 * @param command the command `methods`, which gets its options and action
 * @param context the streams of the command, and the signal that interrupts it
 */
export function addMethods(command: Command, context: CommandContext): void {
  addOptions(command, methodsOptions).action(async (pattern: string | undefined, options: MethodsOptions) => {
    const matches = matcher(pattern);
    const methods = methodsOf(await listedDefinitions(options, context)).filter((method) => {
      const { name, http } = methodObject(method);
      return [name, method.name, ...http.map((rule) => rule.replace(/^\S+ /, ""))].some(matches);
    });
    if (options.json === true) {
      await writeOut(context, json({ methods: methods.map(methodObject) }));
      return;
    }
    const rows = methods.map((method) => methodCells(method).map(printable));
    if (context.out.isTTY === true) {
      printTable(["method", "kind", "http"], rows, context, { ranked: ["method", "http", "kind"] });
      return;
    }
    const { text } = fitTable(["method", "kind", "http"], rows);
    await writeOut(context, text.slice(text.indexOf("\n") + 1));
  });
}

/**
 * Defines the command `describe`, which shows a service, a method, a message or an enum.
 *
 * @param command the command `describe`, which gets its options and action
 * @param context the streams of the command, and the signal that interrupts it
 */
export function addDescribe(command: Command, context: CommandContext): void {
  addOptions(command, describeOptions).action(async (name: string, options: DescribeOptions) => {
    const kind = "method, service, message or enum";
    const { item: found } = await findDefined(name, kind, describables, options, context);
    if (options.json === true) {
      await writeOut(context, json(describedObject(found)));
      return;
    }
    const tables = createTables(context);
    await writeOut(context, describedText(found, tables.format));
    tables.printOmissions();
  });
}

async function listedDefinitions(options: MethodsOptions, context: CommandContext): Promise<Definitions> {
  const definitions = await loadDefinitions(options, context.signal);
  if (options.reflection !== true) {
    return definitions;
  }
  const reflected = await addNodeDefinitions(definitions, options, context);
  if (reflected === undefined) {
    throw new RequestError("the node does not offer server reflection", {
      advice: "Give the definitions with --proto.",
    });
  }
  return reflected;
}

/** Creates the function that matches texts: with wildcards completely, else by a part of the text. */
function matcher(pattern: string | undefined): (text: string) => boolean {
  if (pattern === undefined) {
    return () => true;
  }
  if (/[*?]/.test(pattern)) {
    const expression = parsePattern(pattern, "i");
    return (text) => expression.test(text);
  }
  const part = pattern.toLowerCase();
  return (text) => text.toLowerCase().includes(part);
}
