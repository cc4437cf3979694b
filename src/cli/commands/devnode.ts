import { once } from "node:events";
import { type Command, Option } from "commander";
import { DEFAULT_GRPC_PORT, DEFAULT_REST_PORT } from "../../config/load.js";
import { startDevnode } from "../../devnode/index.js";
import type { ChainIdPrefix } from "../../transaction/transaction.js";
import { type CommandContext, json } from "../output.js";
import { wholeNumber } from "../whole-number.js";

interface DevnodeCommandOptions {
  readonly host: string;
  readonly grpcPort: number;
  readonly restPort: number;
  readonly chainId?: string;
  readonly segments?: number;
  readonly blocksPerSegment?: number;
  readonly blockMs?: number;
  readonly chainIdPrefix?: ChainIdPrefix;
  readonly rateLimit?: boolean;
  readonly json?: boolean;
}

/**
 * Add the command `devnode`, which runs a local node.
 *
 * @param program the command `tradewire`, to which it is added
 * @param context the streams of the command, and the signal that interrupts it
 */
export function addDevnode(program: Command, { out, err, signal }: CommandContext): void {
  program
    .command("devnode")
    .description("Run a local node with a made-up history until it is interrupted.")
    .option("--host <address>", "address to listen on", "127.0.0.1")
    .option("--grpc-port <port>", "TCP port for gRPC; 0 takes a free one", wholeNumber, DEFAULT_GRPC_PORT)
    .option("--rest-port <port>", "TCP port for the HTTP gateway; 0 takes a free one", wholeNumber, DEFAULT_REST_PORT)
    .option("--chain-id <id>", "identifier of the chain")
    .option("--segments <count>", "number of history segments", wholeNumber)
    .option("--blocks-per-segment <count>", "blocks in each segment", wholeNumber)
    .option("--block-ms <milliseconds>", "time from one block to the next; 0 for none", wholeNumber)
    .addOption(
      new Option("--chain-id-prefix <rule>", "what transactions do with the chain's identifier").choices([
        "signed-and-submitted",
        "signature-only",
      ]),
    )
    .option("--rate-limit", "limit the calls of each address as deployed nodes do, and ban who goes on")
    .option("--json", "print where it listens as a JSON object")
    .action(async (options: DevnodeCommandOptions) => {
      await using node = await startDevnode({ ...options, signal });
      const { grpcUrl, restUrl, chainId } = node;
      out.write(options.json === true ? json({ grpcUrl, restUrl, chainId }) : `gRPC ${grpcUrl}\nREST ${restUrl}\n`);
      err.write(`The node of chain ${chainId} is running; Ctrl-C stops it.\n`);
      if (!signal.aborted) {
        await once(signal, "abort");
      }
    });
}
