package report

// style is the style sheet of the page. Colours are told apart in grey too, and each plot stands beside a table.
const style = `
:root { --ink: #1b2430; --soft: #55606e; --line: #cfd6de; --band: #f4f6f8; }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 62rem; padding: 2rem 1.5rem 3rem; color: var(--ink); background: #fff;
  font: 14px/1.45 "Helvetica Neue", Helvetica, Arial, "Liberation Sans", "DejaVu Sans", sans-serif; }
h1 { font-size: 1.9rem; margin: 0 0 .8rem; letter-spacing: -.01em; }
h2 { font-size: 1.2rem; margin: 2.2rem 0 .5rem; padding-bottom: .25rem; border-bottom: 2px solid var(--ink); }
h3 { font-size: .95rem; margin: 1.1rem 0 .4rem; }
p { margin: .4rem 0 .7rem; max-width: 50rem; }
code { font: .86em/1.4 "DejaVu Sans Mono", "Liberation Mono", Menlo, Consolas, monospace; overflow-wrap: anywhere; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1rem; margin: 0; }
dt { color: var(--soft); }
dd { margin: 0; overflow-wrap: anywhere; }
.note { border-left: 4px solid #b3701c; padding: .4rem .8rem; background: #fdf5ea; }
.empty { color: var(--soft); }
.tiles { display: grid; grid-template-columns: repeat(4, 1fr); gap: 1px; background: var(--line);
  border: 1px solid var(--line); margin: .8rem 0 1.2rem; }
.tiles div { background: #fff; padding: .55rem .7rem; }
.value { display: block; font-size: 1.2rem; font-weight: 600; }
.word { display: block; color: var(--soft); font-size: .8rem; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: .28rem .55rem; text-align: right; vertical-align: top; border-bottom: 1px solid var(--line); }
td { white-space: nowrap; }
th { font-weight: 600; font-size: .8rem; vertical-align: bottom; color: var(--soft);
  border-bottom: 1.5px solid var(--ink); }
th.text, td.text { text-align: left; white-space: normal; overflow-wrap: anywhere; }
td.text { min-width: 11em; }
table.narrow { width: auto; min-width: 28rem; }
tbody tr:nth-child(even) td { background: var(--band); }
tr.total td { font-weight: 600; border-top: 1.5px solid var(--ink); background: #fff; }
table.wide { font-size: .82rem; }
table.wide th, table.wide td { padding: .25rem .3rem; }
figure { margin: .9rem 0 0; }
figcaption { font-weight: 600; font-size: .95rem; margin-bottom: .3rem; }
svg { display: block; width: 100%; height: auto; }
svg text { font-size: 9.5px; fill: var(--soft); font-family: inherit; }
svg .strong { fill: var(--ink); }
.plots { display: grid; grid-template-columns: 1fr 1fr; gap: 1.5rem; }
.legend { display: flex; flex-wrap: wrap; gap: .2rem 1rem; margin: .3rem 0 0; padding: 0; font-size: .8rem; }
.legend svg { display: inline-block; width: .8em; height: .8em; margin-right: .35em; }
.grid { stroke: var(--line); stroke-width: 1; }
.axis { stroke: var(--ink); stroke-width: 1; }
.rest { fill: #e6eaee; }
.approved { fill: #1f7a5c; }
.rejected { fill: #c4452f; }
.expired { fill: #e3a33a; }
.cancelled { fill: #8b94a0; }
.stale { fill: #6a4c93; }
.superseded { fill: #7fb2dd; }
.pending { fill: #d3d9e0; }
footer { font-size: .82rem; }
footer dl { gap: .3rem 1rem; }
@media (max-width: 44rem) {
  .tiles { grid-template-columns: repeat(2, 1fr); }
  .plots { grid-template-columns: 1fr; }
  .table { overflow-x: auto; }
}
@page { size: A4; margin: 16mm 14mm 17mm;
  @bottom-left { content: "Countersign approval report"; font: 8pt sans-serif; color: #55606e; }
  @bottom-right { content: counter(page) " / " counter(pages); font: 8pt sans-serif; color: #55606e; } }
@media print {
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  body { max-width: none; padding: 0; font-size: 9.5pt; }
  h1 { font-size: 20pt; }
  h2 { margin-top: 16pt; font-size: 12.5pt; }
  h2, h3, figcaption { break-after: avoid; }
  section > p { break-after: avoid; }
  .value { font-size: 12pt; }
  table { font-size: 8.5pt; }
  th { font-size: 8pt; }
  .word, .legend, footer { font-size: 8pt; }
  table.wide { font-size: 7pt; }
  table.wide th { font-size: 6.3pt; }
  table.wide th, table.wide td { padding: 2pt 2.4pt; }
  td.text { min-width: 7.5em; }
  table.narrow { min-width: 90mm; }
  thead { display: table-header-group; }
  tr, figure, .tiles, .note, dt, dd { break-inside: avoid; }
  dt { break-after: avoid; }
  .table { overflow: visible; }
}
`
