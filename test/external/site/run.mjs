// Opens each page of the built site in Chromium, as wide as a phone: none is wider than the screen, none has an error, and none
// requests anything from another host. Then it searches, and looks at a type.
import assert from "node:assert/strict";
import { once } from "node:events";
import { readdir, readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { launchChromium } from "../../support/launch-chromium.mjs";

const site = fileURLToPath(new URL("../../../out/site/", import.meta.url));
const PHONE = { width: 390, height: 844 };
const DESKTOP = { width: 1280, height: 800 };
const TYPES = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".woff2": "font/woff2",
};
/** What is searched for, and the page or section that must be among the first three results. */
const SEARCHES = [
  ["kill switch", "/guards"],
  ["backfill", "/sync"],
  ["duplicate order", "/intents"],
  ["self signed certificate", "/configuration"],
  ["TW_CHAIN_MISMATCH", "/errors.html#tw_chain_mismatch"],
  ["timeouts.callMs", "/configuration.html#timeoutscallms"],
  ["tradewire submit", "/command/submit"],
  ["createClient", "/library/tradewire/createClient"],
  ["exportNetworkHistory", "/library/tradewire/Client"],
  ["openArchive", "/library/tradewire/openArchive"],
];

const server = createServer(async ({ url }, response) => {
  const { pathname } = new URL(url, "http://site");
  const name = decodeURIComponent(pathname).replace(/\/$/, "/index.html");
  const content = await readFile(join(site, name)).catch(() => undefined);
  response.writeHead(content === undefined ? 404 : 200, { "content-type": TYPES[extname(name)] ?? "text/plain" });
  response.end(content);
}).listen(0, "127.0.0.1");
await once(server, "listening");
const origin = `http://127.0.0.1:${server.address().port}`;

const browser = await launchChromium();
const problems = [];

/** Opens a page that reports what goes wrong in it. */
async function open(viewport) {
  const page = await browser.newPage({ viewport });
  page.on("pageerror", ({ message }) => problems.push(`${page.url()}: ${message}`));
  page.on("console", (line) => line.type() === "error" && problems.push(`${page.url()}: ${line.text()}`));
  page.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(origin) && !url.startsWith("data:")) {
      problems.push(`${page.url()}: requests ${url}`);
    }
  });
  return page;
}

async function fitsOnPhones(names) {
  const page = await open(PHONE);
  for (const name of names) {
    await page.goto(`${origin}/${name}`);
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    if (width > PHONE.width) {
      problems.push(`${name}: ${width} pixels wide, on a screen of ${PHONE.width}`);
    }
  }
  await page.close();
}

async function finds(term, place) {
  const page = await open(DESKTOP);
  await page.goto(`${origin}/`);
  await page.locator(".VPNavBarSearch button").first().click();
  await page.locator("#localsearch-input").fill(term);
  await page.locator("#localsearch-list a.result").first().waitFor();
  const found = await page
    .locator("#localsearch-list a.result")
    .evaluateAll((links) => links.map((link) => link.getAttribute("href") ?? ""));
  if (!found.slice(0, 3).some((link) => link.startsWith(place))) {
    problems.push(`the search for ${term} finds ${found.join(", ")}, but not ${place}`);
  }
  await page.close();
}

/** A name of a long page. */
async function showsTypes() {
  const page = await open(DESKTOP);
  await page.goto(`${origin}/exports.html`);
  const name = page.locator(".twoslash-hover", { hasText: /^entries$/ }).last();
  const type = () => name.evaluate((element) => getComputedStyle(element, "::after").content);
  assert.equal(await type(), "none");
  await name.hover();
  assert.equal(await type(), '"(property) SavedArchive.entries: readonly ArchiveEntry[]"');
  const isVisible = await name.evaluate((element) => {
    const block = element.closest("pre").getBoundingClientRect();
    return document.elementFromPoint(block.left + 40, element.getBoundingClientRect().bottom + 15) === element;
  });
  assert.equal(isVisible, true);
  await page.close();
}

try {
  const names = (await readdir(site, { recursive: true })).filter((name) => name.endsWith(".html"));
  await fitsOnPhones(names);
  for (const [term, place] of SEARCHES) {
    await finds(term, place);
  }
  await showsTypes();
  console.log(`${names.length} pages, ${SEARCHES.length} searches: ${problems.length} problems`);
  for (const problem of problems) {
    console.log(problem);
    process.exitCode = 1;
  }
} finally {
  await browser.close();
  server.close();
}
