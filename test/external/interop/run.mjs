// Uses the library, the command and the local node together with programs of others: grpc-gateway, grpc-go, grpcurl, buf
// curl, Python's grpcio, etcd, gapic-showcase, OpenFGA, ZIP and SQL of others. Prints what became of each case; those that lack a program are left out.
// Arguments: parts of the names of cases; all cases without any.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createClient } from "tradewire";
import { startDevnode } from "tradewire/devnode";
import { archiveCases } from "./archives.mjs";
import { databaseCases } from "./databases.mjs";
import { etcdCases } from "./etcd.mjs";
import { gatewayCases } from "./gateway.mjs";
import { goClientCases } from "./go-client.mjs";
import { goServerCases } from "./go-server.mjs";
import { openfgaCases } from "./openfga.mjs";
import { LeftOut } from "./processes.mjs";
import { pythonCases } from "./python.mjs";
import { reflectionCases } from "./reflection.mjs";
import { showcaseCases } from "./showcase.mjs";
import { createTools } from "./tools.mjs";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const wanted = process.argv.slice(2);

const folder = await mkdtemp(join(tmpdir(), "tradewire-interop-"));
const endings = [];
const counts = { passed: 0, failed: 0, "left out": 0 };
try {
  // Nothing happens between two calls that are compared: blocks are made where a case needs them.
  const node = await startDevnode({ blockMs: 0, segments: 4, activity: 3 });
  endings.push(() => node.close());
  const grpc = createClient({ grpc: { url: node.grpcUrl }, retry: { tries: 1 } });
  endings.push(() => grpc.close());
  const onEnd = (ending) => endings.push(ending);
  const setting = { root, folder, node, tools: createTools(root), clients: { grpc }, onEnd };
  const groups = [
    gatewayCases,
    goServerCases,
    goClientCases,
    reflectionCases,
    pythonCases,
    archiveCases,
    databaseCases,
    etcdCases,
    showcaseCases,
    openfgaCases,
  ];
  const cases = groups.flatMap((make) => make(setting));
  for (const [title, check] of cases.filter(
    ([name]) => wanted.length === 0 || wanted.some((part) => name.includes(part)),
  )) {
    const began = performance.now();
    const [end, why = ""] = await check().then(
      () => ["passed"],
      (error) => [error instanceof LeftOut ? "left out" : "failed", error.message],
    );
    const seconds = ((performance.now() - began) / 1000).toFixed(1);
    counts[end] += 1;
    console.log(`${end.padEnd(8)} | ${seconds.padStart(5)} s | ${title}${why === "" ? "" : `: ${why}`}`);
  }
} finally {
  for (const end of endings.reverse()) {
    await end();
  }
  await rm(folder, { recursive: true, force: true });
}
console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts["left out"]} left out`);
process.exitCode = counts.failed === 0 && counts.passed > 0 ? 0 : 1;
