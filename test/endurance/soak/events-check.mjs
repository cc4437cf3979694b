// Whether streams of events kept their word: each event once, and a gap wherever some are missing.
import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";

/** The most mistakes of a stream that are told. */
const MOST = 20;

/**
 * Check what streams have given. An event that any of them gave was sent by the node, so each stream that asks for its type
 * gave it too, or said that it may be missing.
 */
export async function checkEvents(paths) {
  const streams = await Promise.all(paths.map(readStream));
  const sent = new Map();
  for (const { subscriptions } of streams) {
    for (const { events } of subscriptions) {
      for (const [id, type] of events) {
        sent.set(id, type);
      }
    }
  }
  const byBlock = new Map();
  for (const id of sent.keys()) {
    const block = Number(id.slice(0, id.indexOf("-")));
    byBlock.set(block, byBlock.get(block) ?? []);
    byBlock.get(block).push(id);
  }
  for (const stream of streams) {
    for (const subscription of stream.subscriptions) {
      const [first, last] = [subscription.from, subscription.to];
      // Of its first and its last block, a stream need not have all.
      for (let block = first + 1; block < last; block += 1) {
        if (!subscription.gaps.some(({ after, before }) => after < block && block < before)) {
          lookAt(stream, subscription, block, byBlock.get(block) ?? []);
        }
      }
    }
  }
  function lookAt({ types, mistakes, name }, { events }, block, ids) {
    const missing = ids.filter((id) => !events.has(id) && (types === undefined || types.has(sent.get(id))));
    if (ids.length === 0 || missing.length > 0) {
      mistakes.push(`${name}: block ${block} lacks ${missing[0] ?? "everything"}, and no gap says so`);
    }
  }
  const all = streams.flatMap(({ subscriptions }) => subscriptions);
  return {
    events: all.reduce((sum, { events }) => sum + events.size, 0),
    gaps: all.reduce((sum, { gaps }) => sum + gaps.length, 0),
    streams: all.length,
    blocks: byBlock.size,
    mistakes: streams.flatMap(({ mistakes }) => mistakes.slice(0, MOST)),
  };
}

/** Read a stream: what each of its subscriptions gave, and what was wrong with that by itself. */
async function readStream(path) {
  const stream = { name: path.split("/").at(-1), types: undefined, subscriptions: [], mistakes: [] };
  let now;
  for await (const line of createInterface({ input: createReadStream(path) })) {
    const [word, ...rest] = line.split(" ");
    if (word === "types") {
      stream.types = rest[0] === "all" ? undefined : new Set(rest[0].split(","));
    } else if (word === "open") {
      now = { events: new Map(), gaps: [], from: Number.POSITIVE_INFINITY, to: -1 };
      stream.subscriptions.push(now);
    } else if (word === "gap") {
      now.gaps.push({ after: Number(rest[0]), before: Number(rest[1]) });
    } else {
      const id = `${word}-${rest[0]}`;
      if (now.events.has(id)) {
        stream.mistakes.push(`${stream.name}: event ${id} came twice`);
      }
      now.events.set(id, rest[1]);
      now.from = Math.min(now.from, Number(word));
      now.to = Math.max(now.to, Number(word));
    }
  }
  return stream;
}
