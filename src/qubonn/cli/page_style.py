"""The looks of a page: light and dark, wide and narrow; no font, no script, no other file."""

STYLE = """
:root { color-scheme: light dark; --back: #ffffff; --ink: #1f2430; --muted: #6b7383;
  --line: #dfe3ea; --soft: #f5f7fa; --plus: #0072b2; --minus: #d95f02; --good: #1f8a5d;
  --bad: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --back: #14171d; --ink: #e4e8ef; --muted: #98a1b2;
  --line: #333a46; --soft: #1c2129; --plus: #56b4e9; --minus: #ff9a62; --good: #5fd0a0;
  --bad: #ff8a80; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
header, main { max-width: 60rem; margin: 0 auto; padding: 0 1rem; }
header { padding-top: 2.5rem; }
main { padding-bottom: 4rem; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 .5rem; }
h2 { font-size: 1.3rem; margin: 2.6rem 0 .6rem; padding-top: .6rem;
  border-top: 1px solid var(--line); }
h3 { font-size: 1rem; margin: 1.6rem 0 .3rem; }
p, li { max-width: 44rem; }
code { background: var(--soft); padding: .1em .35em; border-radius: 4px; }
pre { background: var(--soft); padding: .9rem 1rem; border-radius: 8px; overflow-x: auto; }
figure { margin: .8rem 0; }
figcaption { font-size: .88rem; color: var(--muted); text-align: center; margin-top: .35rem; }
.cards { display: flex; flex-wrap: wrap; gap: 1.2rem; align-items: flex-start; }
.cards.small { gap: .7rem; }
.card { margin: 0; padding: .6rem; border: 1px solid var(--line); border-radius: 8px; }
.card.right figcaption { color: var(--good); }
.card.wrong { border-color: var(--bad); }
.card.wrong figcaption { color: var(--bad); }
svg { display: block; margin: 0 auto; }
svg text { fill: var(--ink); font-size: 13px; }
svg.curves, svg.bars { width: 100%; max-width: 44rem; height: auto; margin: 0; }
rect.plus { fill: var(--plus); } rect.minus { fill: var(--minus); opacity: .38; }
.grid { stroke: var(--line); }
polyline { fill: none; stroke-width: 2.5; stroke-linejoin: round; }
.line0 { stroke: var(--minus); } .line1 { stroke: var(--plus); }
svg text.name0 { fill: var(--minus); font-weight: 600; }
svg text.name1 { fill: var(--plus); font-weight: 600; }
.bar0 { fill: var(--muted); } .bar1 { fill: var(--minus); } .bar2 { fill: var(--plus); }
.bar3 { fill: var(--good); }
.paper { background: #ffffff; border: 1px solid var(--line); border-radius: 8px; padding: .5rem; }
.paper img { display: block; width: 100%; height: auto; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .35rem .7rem; text-align: right; border: 1px solid var(--line);
  white-space: nowrap; }
th { font-weight: 600; background: var(--soft); }
td.plus { color: var(--plus); font-weight: 600; } td.minus { color: var(--minus); }
td.good { color: var(--good); font-weight: 600; } td.bad { color: var(--bad); font-weight: 600; }
"""
