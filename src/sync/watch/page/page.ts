import { drawing } from "./drawing.js";
import { script } from "./script.js";
import { style } from "./style.js";

/** The page's style, whose hash the content security policy names. */
export const pageStyle = style;

/** The page's script, whose hash the content security policy also names. */
export const pageScript = `"use strict";\n${drawing}${script}`;

const section = (id: string, title: string, content: string) =>
  `<section class="card" id="${id}"><div class="head"><h2>${title}</h2></div>${content}</section>`;

const figure = (id: string, title: string) =>
  `<div><dt>${title}</dt><dd class="big" id="${id}">–</dd><dd class="small soft" id="${id}-more">&nbsp;</dd></div>`;

/** The page: one document that loads nothing but `/state`. Values are inserted as text only. */
export const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>tradewire sync</title>
<link rel="icon" href="data:,">
<style>${pageStyle}</style>
</head>
<body>
<main>
<header>
<div><h1 id="chain">tradewire sync</h1><p class="soft" id="about">&nbsp;</p></div>
<p id="phase" role="status">Connecting</p>
</header>
<p class="card notice bad" id="lost" hidden></p>
<p class="card notice" id="waiting" hidden></p>
<p class="card notice" id="lagging" hidden></p>
<section class="card" id="figures" aria-label="Figures">
<dl>
${figure("done", "Done")}
${figure("speed", "Arriving")}
${figure("rows", "Rows")}
${figure("lag", "Behind the node")}
${figure("left", "Time left")}
</dl>
<div id="bar"><i></i></div>
</section>
<section class="card" id="coverage">
<div class="head"><h2>Coverage</h2>
<ul class="legend"><li><i></i>loaded</li><li><i class="missing"></i>missing</li><li><i class="underway"></i>in flight</li>
<li><i class="failed"></i>failed</li></ul></div>
<div class="row labels"><span>Table</span><span>Blocks</span><span class="number">Done</span>
<span class="number">Rows</span><span class="number">CSV</span></div>
<div id="tables"></div>
<div class="row axis"><span></span><div><span id="first"></span><span id="middle"></span><span id="last"></span></div></div>
</section>
<div class="columns">
<div>
${section("underway", "In flight", '<ul class="list"></ul>')}
</div>
<div>
${section("errors", "Last errors", '<ul class="list"></ul>')}
${section("nodes", "Nodes", '<ul class="list"></ul>')}
${section("queue", "Queue", '<ul class="list"></ul>')}
${section("unknown", "Not known to this release", '<ul class="list"></ul>')}
</div>
</div>
<footer><span id="updated"></span><a href="/state">state as JSON</a><a href="/metrics">metrics</a></footer>
</main>
<div id="tip" hidden></div>
<noscript>This page needs JavaScript; /state and /metrics do not.</noscript>
<script>${pageScript}</script>
</body>
</html>
`;
