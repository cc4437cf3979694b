import { type Command, Option } from "commander";
import { type CommandContext, json, printable, writeOut } from "../output.js";
import { patternOf } from "../pattern.js";
import { fitTable } from "../table.js";
import { createTables, printTable } from "../terminal.js";

interface DefinitionsOptions {
  readonly proto?: string;
  readonly json?: boolean;
}

/**
 * Create the option that chooses definitions of the user's own.
 *
 * @returns the option
 */
export function protoOption(): Option {
  return new Option(
    "--proto <path>",
    "definitions of your own: a Buf image, a descriptor set, or a folder of .proto files (needs buf)",
  );
}

/**
 * Add the command `methods`, which lists the methods that can be called.
 *
 * @param command the command `methods`, which is given its arguments, options and action
 * @param context the streams of the command, and the signal that interrupts it
 */
export function addMethods(command: Command, context: CommandContext): void {
  command
    .argument("[pattern]", "a part of the name or path, or a pattern for all of it with * and ?, in any case")
    .addOption(protoOption())
    .option("--json", "print one JSON object")
    .action(async (pattern: string | undefined, options: DefinitionsOptions) => {
      const { loadDefinitions, methodsOf } = await import("../api/definitions.js");
      const { methodCells, methodObject } = await import("../api/describe.js");
      const fits = matching(pattern);
      const methods = methodsOf(await loadDefinitions(options.proto, context.signal)).filter((method) => {
        const { name, http } = methodObject(method);
        return [name, method.name, ...http.map((rule) => rule.replace(/^\S+ /, ""))].some(fits);
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
 * Add the command `describe`, which shows a service, a method, a message or an enum.
 *
 * @param command the command `describe`, which is given its arguments, options and action
 * @param context the streams of the command, and the signal that interrupts it
 */
export function addDescribe(command: Command, context: CommandContext): void {
  command
    .argument("<name>", "the full name, or its end, such as ListMarkets or Order.Status")
    .addOption(protoOption())
    .option("--json", "print one JSON object")
    .action(async (name: string, options: DefinitionsOptions) => {
      const { loadDefinitions } = await import("../api/definitions.js");
      const { describables, describedObject, describedText } = await import("../api/describe.js");
      const { findName } = await import("../api/find-name.js");
      const definitions = await loadDefinitions(options.proto, context.signal);
      const tell = (sentence: string) => context.notes.write(`${sentence}\n`);
      const found = findName(name, describables(definitions), "method, service, message or enum", tell);
      if (options.json === true) {
        await writeOut(context, json(describedObject(found)));
        return;
      }
      const tables = createTables(context);
      await writeOut(context, describedText(found, tables.format));
      tables.tellLeftOut();
    });
}

/** Make a function that tells whether a text fits the pattern: as a whole where that has wildcards, else in part. */
function matching(pattern: string | undefined): (text: string) => boolean {
  if (pattern === undefined) {
    return () => true;
  }
  if (/[*?]/.test(pattern)) {
    const expression = patternOf(pattern, "i");
    return (text) => expression.test(text);
  }
  const part = pattern.toLowerCase();
  return (text) => text.toLowerCase().includes(part);
}
