import { type Outcome, type Running, startCommand } from "./command.js";

/** A local node that the command runs, and what it says of itself. */
export interface CommandNode extends AsyncDisposable {
  readonly grpcUrl: string;
  readonly restUrl: string;
  readonly chainId: string;
  readonly mnemonic: string;
  readonly keys: readonly string[];
  /** Stop it, if it still runs. The result is all that it printed. */
  stop(): Promise<Outcome>;
}

/**
 * Start a local node by the command, on free ports. It has four segments of ten blocks, and makes further ones only when
 * it is told to.
 *
 * @throws Error with what it printed, if it ends at once
 */
export async function startCommandNode(...options: string[]): Promise<CommandNode> {
  const size = ["--segments", "4", "--blocks-per-segment", "10", "--block-time", "0"];
  const node: Running = startCommand([
    "devnode",
    "--json",
    ...["--grpc-port", "0", "--rest-port", "0"],
    ...size,
    ...options,
  ]);
  const failed = node.ended.then(({ out, err }) => {
    throw new Error(`the node ended: ${out}${err}`);
  });
  const told = JSON.parse(await Promise.race([node.firstLine, failed]));
  failed.catch(() => undefined);
  const stop = () => {
    node.interrupt("SIGTERM");
    return node.ended;
  };
  return { ...told, stop, [Symbol.asyncDispose]: async () => void (await stop()) };
}
