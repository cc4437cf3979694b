/** The style of the page. The four states differ in lightness and form, not in hue alone. */
export const style = `
:root {
  color-scheme: light dark;
  --ground: #f6f6f4; --card: #ffffff; --ink: #1a1c20; --soft: #646a73; --line: #e3e3de;
  --there: #3b74b4; --missing: #ecece8; --underway: #f2b705; --failed: #a11d21; --good: #2e7d5b;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #121417; --card: #1a1d21; --ink: #e7e8ea; --soft: #979da6; --line: #2b2f35;
    --there: #5b93d0; --missing: #2a2e34; --underway: #ffd54a; --failed: #ff6b5e; --good: #5dbb8f;
  }
}
* { box-sizing: border-box; margin: 0; }
[hidden] { display: none !important; }
body {
  background: var(--ground); color: var(--ink);
  font: 15px/1.45 system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif;
  font-variant-numeric: tabular-nums; -webkit-text-size-adjust: 100%;
}
main { max-width: 1240px; margin: 0 auto; padding: 28px 24px 40px; display: grid; gap: 20px; }
h1 { font-size: 22px; line-height: 1.25; font-weight: 650; letter-spacing: -0.01em; overflow-wrap: anywhere; }
h2 { font-size: 15px; font-weight: 600; }
a { color: inherit; text-underline-offset: 3px; }
.soft { color: var(--soft); }
.small { font-size: 13px; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 18px 20px; min-width: 0; }
header { display: flex; gap: 12px 20px; align-items: flex-start; justify-content: space-between; flex-wrap: wrap; }
header > div { min-width: 0; flex: 1 1 16rem; }
#about { overflow-wrap: anywhere; }
#phase {
  display: flex; align-items: center; gap: 8px; padding: 5px 13px 5px 11px; border-radius: 99px;
  background: var(--card); border: 1px solid var(--line); font-size: 14px; font-weight: 550; white-space: nowrap;
}
#phase::before { content: ""; width: 9px; height: 9px; border-radius: 50%; background: var(--soft); }
#phase.syncing::before { background: var(--there); }
#phase.idle::before { background: var(--good); }
#phase.waiting::before { background: var(--underway); }
#phase.lost::before { background: var(--failed); border-radius: 1px; }
.notice { border-left: 4px solid var(--underway); overflow-wrap: anywhere; }
.notice.bad { border-left-color: var(--failed); }
body.stale #figures, body.stale #coverage, body.stale #underway { opacity: 0.5; }

#figures { padding: 0; overflow: hidden; }
#figures dl { display: grid; grid-template-columns: repeat(5, minmax(0, 1fr)); }
#figures dl > div { padding: 16px 20px 15px; }
#figures dl > div + div { border-left: 1px solid var(--line); }
#figures dt { color: var(--soft); font-size: 13px; }
#figures dd.big { font-size: 25px; line-height: 1.3; font-weight: 600; letter-spacing: -0.015em; white-space: nowrap; }
#figures dd.big small { font-size: 15px; font-weight: 500; color: var(--soft); letter-spacing: 0; margin-left: 0.2em; }
#bar { height: 4px; background: var(--missing); }
#bar i { display: block; height: 100%; width: 0; background: var(--there); transition: width 0.6s; }

.head { display: flex; flex-wrap: wrap; gap: 6px 20px; align-items: baseline; justify-content: space-between; margin-bottom: 12px; }
.legend { display: flex; flex-wrap: wrap; gap: 4px 16px; list-style: none; padding: 0; font-size: 13px; color: var(--soft); }
.legend li { display: flex; align-items: center; gap: 7px; }
.legend i { width: 12px; height: 14px; border-radius: 2px; background: var(--there); }
.legend .missing { background: var(--missing); }
.legend .underway { background: var(--underway); }
.legend .failed { background: linear-gradient(var(--failed) 0 5px, var(--card) 5px 9px, var(--failed) 9px); }
.row { display: grid; grid-template-columns: 11.5rem minmax(0, 1fr) 3.4rem 7.2rem 5.6rem; gap: 0 14px; align-items: center; padding: 3px 0; }
.row.labels, .row.axis { color: var(--soft); font-size: 13px; }
.row.axis div { display: flex; justify-content: space-between; }
.row .name { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.row .number { text-align: right; white-space: nowrap; }
canvas { display: block; width: 100%; height: 18px; border-radius: 3px; touch-action: pan-y; cursor: crosshair; }
#tip {
  position: fixed; z-index: 1; left: 0; top: 0; max-width: 280px; padding: 7px 11px; border-radius: 7px; pointer-events: none;
  background: var(--ink); color: var(--ground); font-size: 13px; line-height: 1.4; white-space: pre-line;
}

.columns { display: grid; grid-template-columns: minmax(0, 6fr) minmax(0, 5fr); gap: 20px; align-items: start; }
.columns > div { display: grid; gap: 20px; min-width: 0; }
.list { list-style: none; padding: 0; }
.list > li { padding: 9px 0; border-top: 1px solid var(--line); overflow-wrap: anywhere; }
.list > li:last-child { padding-bottom: 0; }
.line { display: flex; flex-wrap: wrap; gap: 0 14px; justify-content: space-between; }
#underway li, #queue li { padding: 5px 0; border: 0; }
.unit { display: grid; grid-template-columns: 10.4rem minmax(0, auto) minmax(0, 1fr) auto 3rem; gap: 0 14px; align-items: baseline; }
.unit .where { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.unit .number { text-align: right; white-space: nowrap; }
.kind { font-weight: 550; color: var(--failed); }
footer { display: flex; flex-wrap: wrap; gap: 4px 16px; color: var(--soft); font-size: 13px; }

@media (max-width: 820px) {
  main { padding: 18px 14px 28px; gap: 14px; }
  .card { padding: 15px 16px; }
  #figures dl { grid-template-columns: repeat(2, minmax(0, 1fr)); }
  #figures dl > div { padding: 12px 16px; }
  #figures dl > div + div { border-left: 0; }
  #figures dl > div:nth-child(even) { border-left: 1px solid var(--line); }
  #figures dl > div:nth-child(n + 2) { border-top: 1px solid var(--line); }
  #figures dl > div:first-child { grid-column: 1 / -1; }
  #figures dl > div:nth-child(even) { border-left: 0; }
  #figures dl > div:nth-child(odd):not(:first-child) { border-left: 1px solid var(--line); }
  #figures dd.big { font-size: 20px; }
  .columns { grid-template-columns: minmax(0, 1fr); gap: 14px; }
  .columns > div { gap: 14px; }
  .unit { grid-template-columns: minmax(0, 1fr) auto 3.4rem; }
  .unit .soft.small { order: 1; grid-column: 1 / -1; }
  .unit .soft.small + .soft.small:empty { display: none; }
  .row { grid-template-columns: minmax(0, 1fr) auto auto; gap: 3px 12px; padding: 6px 0; }
  .row.labels { display: none; }
  .row .rows { order: 1; color: var(--soft); font-size: 13px; }
  .row .percent { order: 2; min-width: 3.2rem; }
  .row canvas, .row.axis div { order: 3; grid-column: 1 / -1; }
  .row .bytes, .row.axis span:empty { display: none; }
}
`;
