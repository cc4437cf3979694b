import { Code } from "../../base/errors/code.js";
import { SinkError } from "../../base/errors/index.js";
import { syncViews } from "../../sync/index.js";
import { reportsTo } from "../client.js";
import { clientOptions } from "../client-options.js";
import { defineCommand } from "../declarations.js";
import { printable } from "../output.js";
import { outputFormat, outputOptions, printReport } from "../output-format.js";
import { eventText } from "../sync/reporter.js";
import { openClients } from "../sync/sync-options.js";
import { readTarget, sinkOf, targetExists, targetOptions } from "../sync/target.js";

const viewsOptions = {
  ...outputOptions,
  ...targetOptions,
  ...clientOptions,
};

/** Defines the command `sync views`, which creates the views of a database, or updates them. */
export const addSyncViews = defineCommand(viewsOptions, async (options, context) => {
  const { out, err, output, notes, signal } = context;
  output.role = "answer";
  const target = readTarget(options, context);
  const sink = sinkOf(target);
  if (!(await targetExists(target))) {
    throw new SinkError(`${sink.name} does not exist`, {
      code: Code.NotFound,
      advice: "Check --to, or run `tradewire sync` first.",
    });
  }
  await using nodes = openClients(options, reportsTo(notes, context));
  const onEvent = (event: Parameters<typeof eventText>[0]) => void err.write(`${eventText(event) ?? ""}\n`);
  await syncViews(nodes.clients, { sink, signal, hooks: { onEvent } });
  const report = {
    table() {
      out.write(`The views of ${printable(sink.name)} are up to date.\n`);
    },
    object: () => ({ sink: sink.name }),
  };
  await printReport(report, outputFormat(options, context), context);
});
