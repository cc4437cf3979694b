import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

const REFERENCE = /\s(?:href|src)="([^"]*)"/g;

/**
 * Finds links of a built site to pages, files and sections that it does not have, and what its pages load from elsewhere.
 */
export async function findDeadLinks(site: string): Promise<string[]> {
  const names = await readdir(site, { recursive: true });
  const pages = names.filter((name) => name.endsWith(".html"));
  const texts = new Map(
    await Promise.all(pages.map(async (name) => [name, await readFile(join(site, name), "utf8")] as const)),
  );
  const sections = new Map([...texts].map(([name, text]) => [name, idsOf(text)]));
  const dead = [...texts].flatMap(([name, text]) =>
    [...text.matchAll(REFERENCE)].flatMap(([, reference = ""]) => {
      const { origin, pathname, hash } = new URL(reference.replaceAll("&amp;", "&"), `http://site/${name}`);
      const path = decodeURIComponent(pathname)
        .slice(1)
        .replace(/(^|\/)$/, "$1index.html");
      const isMissing = origin === "http://site" && !names.includes(path);
      const ids = sections.get(path);
      const isSectionMissing = hash !== "" && ids !== undefined && !ids.has(decodeURIComponent(hash.slice(1)));
      return isMissing || isSectionMissing ? [`${name}: ${reference}`] : [];
    }),
  );
  return [...new Set(dead)];
}

function idsOf(text: string): ReadonlySet<string> {
  return new Set([...text.matchAll(/\sid="([^"]*)"/g)].map(([, id = ""]) => id));
}
