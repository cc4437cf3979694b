// One run, in a process of its own: node bench/peers/process.mjs MODULE TASK ARGUMENTS [PROFILE]
//
// The task is a function of the module in this folder; ARGUMENTS is its argument as JSON. A task that has something to
// prepare returns a function. What is measured begins when everything is imported and prepared. A task gives the amount
// that it came to, or an object with it and what else it measured. A task that cannot run, for a package is not there, says
// which one. PROFILE is a file for the CPU profile of what is measured.
import { writeFileSync } from "node:fs";

const [module, task, args, profileFile] = process.argv.slice(2);
const session = profileFile && new (await import("node:inspector/promises")).Session();

/** Seconds of CPU, of all threads, user and system. */
function cpu() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

function now() {
  return { seconds: performance.now() / 1000, cpu: cpu() };
}

async function begin() {
  await session?.post("Profiler.start");
  return now();
}

try {
  const { [task]: run } = await import(`./${module}.mjs`);
  session?.connect();
  await session?.post("Profiler.enable");
  let start = await begin();
  let amount = await run(JSON.parse(args));
  if (typeof amount === "function") {
    await session?.post("Profiler.stop");
    start = await begin();
    amount = await amount();
  }
  const end = now();
  if (session) {
    const { profile } = await session.post("Profiler.stop");
    writeFileSync(profileFile, JSON.stringify(profile));
  }
  const peak = process.resourceUsage().maxRSS / 1024;
  const result = { seconds: end.seconds - start.seconds, cpu: end.cpu - start.cpu, peak };
  Object.assign(result, typeof amount === "object" ? amount : { amount });
  process.stdout.write(JSON.stringify(result), () => process.exit());
} catch (reason) {
  if (reason.code !== "ERR_MODULE_NOT_FOUND") {
    throw reason;
  }
  process.stdout.write(JSON.stringify({ absent: reason.message.split("\n")[0] }));
}
