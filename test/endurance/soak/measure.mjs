// What a process holds: memory after garbage collections, what keeps it alive, and its open files and sockets.
import { readdir, readlink } from "node:fs/promises";
import { setImmediate as turn } from "node:timers/promises";

/** Measure this process, which runs with --expose-gc. */
export async function measure() {
  for (let time = 0; time < 3; time += 1) {
    await turn(); // Finalizers run between collections.
    globalThis.gc();
  }
  const { heapUsed, external, rss } = process.memoryUsage();
  const resources = {};
  for (const kind of process.getActiveResourcesInfo()) {
    resources[kind] = (resources[kind] ?? 0) + 1;
  }
  const files = await openFiles();
  return {
    heap: heapUsed,
    external,
    rss,
    resources,
    handles: process._getActiveHandles().length,
    active: Object.values(resources).reduce((sum, count) => sum + count, 0),
    sockets: files.filter((name) => name.startsWith("socket:")).length,
    files: files.length,
  };
}

/** What this process's file descriptors stand for; none where the system does not tell. */
async function openFiles() {
  const folder = "/proc/self/fd";
  const names = await readdir(folder).catch(() => []);
  return Promise.all(names.map((name) => readlink(`${folder}/${name}`).catch(() => "gone")));
}
