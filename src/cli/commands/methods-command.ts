import type { DescMethod } from "@bufbuild/protobuf";
import { RequestError } from "../../base/errors/index.js";
import { type Definitions, definitionsOptions, loadDefinitions, methodsOf } from "../api/definitions.js";
import {
  describables,
  describedObject,
  describedRecords,
  describedText,
  methodCells,
  methodObject,
  shortMethodNames,
} from "../api/describe.js";
import { addNodeDefinitions, findDefined } from "../api/node-definitions.js";
import { type ClientOptions, clientOptions } from "../client-options.js";
import { defineCommand, flag, type OptionValues } from "../declarations.js";
import { type CommandContext, printable, writeOut } from "../output.js";
import { outputFormat, outputOptions, printReport } from "../output-format.js";
import { parsePattern } from "../parsers.js";
import { createTables, printTable } from "../table.js";

const describeOptions = { ...definitionsOptions, ...outputOptions, ...clientOptions };
const methodsOptions = {
  ...definitionsOptions,
  ...outputOptions,
  ...clientOptions,
  reflection: flag("also list the methods that the node offers with gRPC server reflection", { conflicts: ["proto"] }),
};

type DescribeOptions = OptionValues<typeof describeOptions> & ClientOptions;
type MethodsOptions = OptionValues<typeof methodsOptions> & ClientOptions;

/** Defines the command `methods`, which lists the methods that can be called. */
export const addMethods = defineCommand(
  methodsOptions,
  async (pattern: string | undefined, options: MethodsOptions, context: CommandContext) => {
    const matches = matcher(pattern);
    const all = methodsOf(await listedDefinitions(options, context));
    const methods = all.filter((method) => {
      const { name, http } = methodObject(method);
      return [name, method.name, ...http.map((rule) => rule.replace(/^\S+ /, ""))].some(matches);
    });
    const report = {
      table: () => printMethods(methods, shortMethodNames(all), context),
      object: () => ({ methods: methods.map(methodObject) }),
      records: () => methods.map(methodObject),
    };
    await printReport(report, outputFormat(options, context), context);
  },
);

/** Prints methods by the names that `call` accepts. The service, which most of them share, is the first column to be hidden. */
function printMethods(
  methods: readonly DescMethod[],
  nameOf: (method: DescMethod) => string,
  context: CommandContext,
): void {
  if (methods.length === 0) {
    context.notes.write("No methods match.\n");
    return;
  }
  const rows = methods.map((method) => {
    const [, kind, http] = methodCells(method);
    return [nameOf(method), kind, http, method.parent.typeName].map(printable);
  });
  printTable(["method", "kind", "http", "service"], rows, context, {
    ranked: ["method", "http", "kind"],
    prefers: "values",
  });
}

/** Defines the command `describe`, which shows a service, a method, a message or an enum. */
export const addDescribe = defineCommand(
  describeOptions,
  async (name: string, options: DescribeOptions, context: CommandContext) => {
    const kind = "method, service, message or enum";
    const { item: found } = await findDefined(name, kind, describables, options, context);
    const report = {
      async table() {
        const tables = createTables(context);
        await writeOut(context, describedText(found, tables));
        tables.printOmissions();
      },
      object: () => describedObject(found),
      records: () => describedRecords(found),
    };
    await printReport(report, outputFormat(options, context), context);
  },
);

async function listedDefinitions(options: MethodsOptions, context: CommandContext): Promise<Definitions> {
  const definitions = await loadDefinitions(options, context.signal);
  if (options.reflection !== true) {
    return definitions;
  }
  const reflected = await addNodeDefinitions(definitions, options, context);
  if (reflected === undefined) {
    throw new RequestError("the node does not offer server reflection", {
      advice: "Provide the definitions with --proto.",
    });
  }
  return reflected;
}

/** Creates the function that matches texts: with wildcards completely, otherwise by a part of the text. */
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
