// The command's local node in a process of its own, which can be killed and started again with what it had.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

/** The command. */
export const command = fileURLToPath(new URL("../../dist/src/cli/main.js", import.meta.url));

/** Start a node. */
export async function startNode({ grpcPort, restPort }, folder, args) {
  const ports = ["--grpc-port", String(grpcPort), "--rest-port", String(restPort)];
  const all = [command, "devnode", ...ports, "--data-dir", folder, "--json", "--quiet", ...args];
  const node = spawn(process.execPath, all, { stdio: ["ignore", "pipe", "ignore"] });
  const ended = once(node, "exit").then(([code, signal]) => {
    throw new Error(`the node did not start: ${signal ?? `exit ${code}`}`);
  });
  await Promise.race([once(createInterface(node.stdout), "line"), ended]);
  ended.catch(() => undefined);
  return node;
}

/** End a process. */
export async function end(child, signal = "SIGKILL") {
  if (child.exitCode === null && child.signalCode === null) {
    const gone = once(child, "exit");
    child.kill(signal);
    await gone;
  }
}
