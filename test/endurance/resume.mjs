// A command that exports with --resume and is killed again and again must end with the whole archive, and fetch little twice.
//
//   npm run build && node test/endurance/resume.mjs [SEGMENTS] [KILLS] [PARALLEL]
//
// A local node in a process of its own makes SEGMENTS segments; a proxy before it counts what it sends. The command is
// killed (SIGKILL) at random moments: three of four times while parts come, spread over all of them, else when all have
// come and are joined. Then it runs to its end, and its archive is compared with that of one stream, row for row. The
// bytes of all runs are given as a ratio to those of that stream.
import { fork, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { openArchive } from "../../dist/src/index.js";
import { startDevnode } from "../../dist/src/node/index.js";
import { startLink } from "./link.mjs";

const BLOCKS = 1000;
const [first, ...others] = process.argv.slice(2);
const command = fileURLToPath(new URL("../../dist/src/cli/main.js", import.meta.url));

if (first === "node") {
  const schemaVersions = [115, 115, 115, 116];
  const { grpcUrl } = await startDevnode({ segments: Number(others[0]), blocksPerSegment: BLOCKS, schemaVersions });
  process.send(grpcUrl);
} else {
  await bench(Number(first ?? 100), Number(others[0] ?? 20), Number(others[1] ?? 1));
}

async function bench(segments, kills, parallel) {
  const node = fork(fileURLToPath(import.meta.url), ["node", String(segments)]);
  const [target] = await once(node, "message");
  const folder = await mkdtemp(join(tmpdir(), "tradewire-resume-"));
  const sent = { bytes: 0 };
  const link = await startLink(target, ({ bytes, socket }) => {
    sent.bytes += bytes.length;
    socket.write(bytes);
  });
  const start = (...more) => {
    const range = ["--table", "trades", "--from-block", "1", "--to-block", String(segments * BLOCKS)];
    return spawn(process.execPath, [command, "export", "--grpc-url", link.url, ...range, ...more], {
      stdio: "ignore",
    });
  };
  const parts = join(folder, "parts");
  const resume = (out) => ["--resume", parts, "--parallel", String(parallel), "--to", join(folder, out)];
  try {
    const whole = await measured(sent, start("--to", join(folder, "whole.zip")));
    const undisturbed = await measured(sent, start(...resume("undisturbed.zip")), joinedAfter(parts, segments));
    sent.bytes = 0;
    const moments = Array.from({ length: Math.ceil(kills * 0.75) }, Math.random).sort((a, b) => a - b);
    let [killed, ended] = [0, 0];
    for (let run = 0; run < kills && ended === 0; run += 1) {
      const child = start(...resume("resumed.zip"));
      const gone = once(child, "exit");
      const part = moments[run];
      const moment =
        part === undefined
          ? joinedAfter(parts, segments)(child).then(() => sleep(0.7 * Math.random() * undisturbed.joinMs))
          : untilParts(child, parts, part * (segments - 1)).then(() => sleep(Math.random() * undisturbed.partMs));
      await Promise.race([moment, gone]);
      if (child.exitCode === null) {
        child.kill("SIGKILL");
        killed += 1;
      } else {
        ended += 1;
      }
      await gone;
    }
    const last = ended === 0 ? start(...resume("resumed.zip")) : undefined;
    const code = last === undefined ? 0 : (await once(last, "exit"))[0];
    const equal = code === 0 && (await sameRows(join(folder, "whole.zip"), join(folder, "resumed.zip")));
    const left = (await readdir(folder)).filter((name) => !name.endsWith(".zip"));
    const ratio = sent.bytes / whole.bytes;
    console.log(`${segments} segments, ${killed} kills, ${parallel} at once: the last run ended with ${code}`);
    console.log(`rows equal: ${equal}; left behind: ${left.length === 0 ? "nothing" : left.join(", ")}`);
    console.log(`bytes of all runs: ${(ratio).toFixed(3)} times those of one stream (${whole.bytes} bytes)`);
    console.log(`undisturbed in parts: ${(undisturbed.bytes / whole.bytes).toFixed(3)} times`);
    process.exitCode = equal && left.length === 0 ? 0 : 1;
  } finally {
    node.kill();
    link.close();
    await rm(folder, { recursive: true });
  }
}

/** Run a command to its end, and tell what it fetched, and how long its parts and what came behind them took. */
async function measured(sent, child, joined = () => undefined) {
  sent.bytes = 0;
  const gone = once(child, "exit");
  const began = performance.now();
  const behind = await Promise.race([joined(child), gone.then(() => undefined)]);
  const count = behind?.count ?? 1;
  await gone;
  const end = performance.now();
  return { bytes: sent.bytes, joinMs: behind ? end - behind.at : 0, partMs: ((behind?.at ?? end) - began) / count };
}

/** Wait until all parts have come. */
function joinedAfter(parts, count) {
  return async (child) => {
    await untilParts(child, parts, count);
    return { at: performance.now(), count };
  };
}

/** Wait until more than some parts have come. */
async function untilParts(child, parts, count) {
  while (child.exitCode === null) {
    const manifest = await readFile(join(parts, "tradewire-parts.json"), "utf8").catch(() => '{"parts":[]}');
    if (JSON.parse(manifest).parts.length >= count) {
      return;
    }
    await sleep(2);
  }
}

async function sameRows(...paths) {
  const [a, b] = paths.map(rowsOf);
  for (;;) {
    const [left, right] = await Promise.all([a.next(), b.next()]);
    if (left.done || right.done) {
      return left.done === right.done;
    }
    if (left.value !== right.value) {
      return false;
    }
  }
}

async function* rowsOf(path) {
  for await (const file of openArchive(path).files()) {
    for await (const { columns, rows } of file.batches()) {
      for (const row of rows) {
        yield JSON.stringify([file.name, columns, row]);
      }
    }
  }
}
