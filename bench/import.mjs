// What importing costs: CPU milliseconds, user and system, of a process that imports one library and ends.
//
//   npm run build && npm install --no-save pg viem && node bench/import.mjs [--rounds 15]
//
// Each run is a process of its own, and every round runs all subjects in turn, so that other load affects all of them
// alike. A peer that is not installed is left out.
import { execFileSync } from "node:child_process";
import { parseArgs } from "node:util";

const { values } = parseArgs({ options: { rounds: { type: "string", default: "15" } } });

const ours = new URL("../dist/src/", import.meta.url).href;
const subjects = {
  "bare node": "",
  tradewire: `${ours}index.js`,
  "tradewire/api": `${ours}api/index.js`,
  "@connectrpc/connect-node": "@connectrpc/connect-node",
  "@grpc/grpc-js": "@grpc/grpc-js",
  pg: "pg",
  viem: "viem",
};

/** CPU milliseconds of a process that imports a module, or undefined where it is not installed. */
function cost(module) {
  const program = `
    ${module === "" ? "" : `await import(${JSON.stringify(module)});`}
    const { userCPUTime, systemCPUTime } = process.resourceUsage();
    process.stdout.write(String((userCPUTime + systemCPUTime) / 1000));
  `;
  try {
    return Number(execFileSync(process.execPath, ["--input-type=module", "-e", program], { stdio: "pipe" }));
  } catch (reason) {
    if (String(reason.stderr).includes("ERR_MODULE_NOT_FOUND")) {
      return undefined;
    }
    throw reason;
  }
}

const costs = new Map(Object.keys(subjects).map((name) => [name, []]));
for (let round = 0; round < Number(values.rounds); round += 1) {
  for (const [name, module] of Object.entries(subjects)) {
    costs.get(name).push(cost(module));
  }
}
const median = (numbers) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];
const peer = median(costs.get("@connectrpc/connect-node"));
console.log("| import of | CPU ms, median | connect-node's |\n|---|---:|---:|");
for (const [name, numbers] of costs) {
  const known = numbers.every((number) => number !== undefined);
  console.log(
    known
      ? `| ${name} | ${median(numbers).toFixed(0)} | ${(median(numbers) / peer).toFixed(2)} × |`
      : `| ${name} | not installed | |`,
  );
}
