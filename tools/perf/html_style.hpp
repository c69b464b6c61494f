// SPDX-License-Identifier: BSD-3-Clause
// The style sheet of the report. Each colour is a variable with one value for light screens and one for dark screens; a
// test checks the contrast of the colours.
#pragma once

namespace cinnabar::tools::perf {

inline constexpr const char* html_style = R"(
:root { color-scheme: light dark; --page: #ffffff; --text: #1b1f24; --soft: #57606a; --grid: #d8dee4; --bad: #b42318;
  --c0: #0969da; --c1: #bc4c00; --c2: #1a7f37; --c3: #8250df;
  --c4: #bf3989; --c5: #0e7490; --c6: #7d6b00; --c7: #57606a;
  --c8: #1e3a8a; }
@media (prefers-color-scheme: dark) {
  :root { --page: #0d1117; --text: #e6edf3; --soft: #9aa4af; --grid: #30363d; --bad: #ff7b72;
    --c0: #58a6ff; --c1: #f0883e; --c2: #3fb950; --c3: #bc8cff;
    --c4: #f778ba; --c5: #39c5cf; --c6: #d4b106; --c7: #9aa4af;
    --c8: #a5b4fc; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.2rem; max-width: 78rem; background: var(--page); color: var(--text);
  font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; margin: 0 0 .3rem; }
h2 { font-size: 1.2rem; margin: 2rem 0 .5rem; }
p { margin: .4rem 0; max-width: 60rem; }
.soft { color: var(--soft); }
.bad { color: var(--bad); font-weight: 600; }
code { font: .9em ui-monospace, monospace; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; margin: .6rem 0; }
th, td { padding: .25rem .6rem; text-align: right; border-bottom: 1px solid var(--grid); white-space: nowrap; }
th { color: var(--soft); font-weight: 600; }
th:first-child, td:first-child { text-align: left; padding-left: 0; }
td.note { text-align: left; border-bottom: 0; padding-top: 0; white-space: normal; }
td.note span { position: sticky; left: 0; display: inline-block; max-width: min(60rem, 100vw - 2.4rem); }
th.words, td.words { text-align: left; white-space: normal; overflow-wrap: anywhere; min-width: 8rem; }
th.text, td.text { text-align: left; white-space: normal; min-width: 14rem; }
th.word, td.word { text-align: left; }
a { color: var(--c0); }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr)); gap: 1.5rem 2rem; }
figure { margin: .8rem 0 0; min-width: 0; }
figcaption { font-weight: 600; }
figcaption span { font-weight: 400; color: var(--soft); }
figure > svg { display: block; width: 100%; height: auto; max-width: 30rem; }
svg text { fill: var(--text); font: 14px system-ui, sans-serif; }
svg .tick { font-size: 13px; fill: var(--soft); }
svg .grid { stroke: var(--grid); stroke-width: 1; }
svg polyline { fill: none; stroke: currentColor; stroke-width: 2; stroke-linejoin: round; }
svg .point, svg .bar { fill: currentColor; }
svg .interval { stroke: currentColor; stroke-width: 1.5; }
svg .dashed polyline { stroke-dasharray: 6 4; }
svg .dashed .point { fill: var(--page); stroke: currentColor; stroke-width: 1.5; }
.c0 { color: var(--c0); } .c1 { color: var(--c1); } .c2 { color: var(--c2); } .c3 { color: var(--c3); }
.c4 { color: var(--c4); } .c5 { color: var(--c5); } .c6 { color: var(--c6); } .c7 { color: var(--c7); }
.c8 { color: var(--c8); }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: .1rem 1.2rem; margin: .2rem 0 0; padding: 0;
  font-size: .9rem; }
.legend .key { width: 1.6rem; height: .6rem; margin-right: .4rem; }
@media print { body { max-width: none; } figure { break-inside: avoid; } }
)";

}  // namespace cinnabar::tools::perf
