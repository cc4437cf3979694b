// Takes and gives back permits side by side: a process of its own, as the driver's warnings are of the process.

import { createPermits } from "../../../src/sync/queue/admission.js";
import { openQueueDatabase } from "../../../src/sync/queue/queue-database.js";
import { parseTarget } from "../../../src/sync/sinks/postgres/postgres-target.js";

const PERMITS = 8;

await using db = await openQueueDatabase(parseTarget(process.argv[2] ?? "", "public"));
await using permits = createPermits(db, PERMITS);
const rounds: string[] = [];
for (let round = 0; round < 2; round += 1) {
  const taken = await Promise.all(Array.from({ length: PERMITS }, () => permits.take("node")));
  rounds.push(`${taken.filter((permit) => permit !== undefined).length} taken`);
  await Promise.all(taken.map((permit) => permit?.release()));
}
process.stdout.write(`${rounds.join(", ")}\n`);
