# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""A page with much markup and many scripts: tests/bench/hooks/load.html with generated parts."""

from .generated_script import Prepared, bundles
from .measurement import PAGES
from .visits import Generated

PATH = "/hooks/load.html"
# The parts replace this text.
MARK = "<!-- parts -->"
PARTS = 120
# Each part has its own script, and every fourth one also has a file.
FILE_EVERY = 4
SCRIPT_BYTES = 2_000
FILE_BYTES = 40_000

PART = """\
<section id="part-{number}" class="part {kind}">
<h2>Part {number} of many</h2>
<p>A paragraph with <em>stress</em>, <strong>more of it</strong>, some <code>code({number})</code> and
<a href="#part-{next}">a link to the part after it</a>, so that lines are broken and fonts change within them.</p>
<p>Another one, <span class="quiet">which is quiet</span>, &amp; has <b>references</b>: &lt;{number}&gt; &mdash;
and <i>words</i> <u>of</u> <s>all</s> <small>sizes</small> <sub>and</sub> <sup>places</sup>.</p>
<ul>{items}</ul>
<table><thead><tr><th>name</th><th>count</th><th>price</th><th>sum</th></tr></thead><tbody>{rows}</tbody></table>
<div class="cards">{cards}</div>
<form><label for="name-{number}">Name</label><input id="name-{number}" name="name" value="n{number}">
<label for="kind-{number}">Kind</label>
<select id="kind-{number}"><option>one</option><option selected>two</option><option>three</option></select>
<label><input type="checkbox" checked> kept</label><button type="button">Save</button></form>
</section>
<script>{script}</script>
{file}"""
CARD = """<div class="card" onclick="this.classList.toggle('open')"><h3>{0}</h3><p class="more">{0}</p></div>"""


def generated_page() -> Generated:
    """The page, and the files of its scripts. A page has no script text twice."""
    template = (PAGES / PATH.lstrip("/")).read_text(encoding="utf-8")
    own_scripts = bundles(SCRIPT_BYTES)
    pages = Prepared(lambda: template.replace(MARK, "\n".join(_part(number, own_scripts()) for number in range(PARTS))))
    scripts = Prepared(bundles(FILE_BYTES))

    def prepare():
        pages.prepare(1)
        scripts.prepare(PARTS // FILE_EVERY)

    return Generated({PATH: pages, "/generated/part.js": scripts}, prepare)


def _part(number: int, script: str) -> str:
    return PART.format(
        number=number,
        next=(number + 1) % PARTS,
        kind="odd" if number % 2 else "even",
        items="".join(f"<li>Item {item} of part <b>{number}</b></li>" for item in range(6)),
        rows="".join(
            f"<tr><td>a{row}</td><td>{number + row}</td><td>{row * 1.25:g}</td><td>{number * row}</td></tr>"
            for row in range(5)
        ),
        cards="".join(CARD.format(f"card {number}.{card}") for card in range(4)),
        script=script,
        file=f'<script src="/generated/part.js?{number}"></script>' if number % FILE_EVERY == 0 else "",
    )
