# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""Functions in C++ sources, found by their names without a compiler.

This is for comparing two versions of a program. It knows comments, literals, brackets and classes, and no more of the
language: a function that is made by a macro is not found.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

COMMENT = r"//(?:\\\n|[^\n])*|/\*.*?\*/"
LITERAL = r'R"(?P<end>\w*)\(.*?\)(?P=end)"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''
# In this order, so that a comment in a literal is none.
NOT_CODE = re.compile(f"(?P<literal>{LITERAL})|(?P<comment>{COMMENT})", re.S)
TEMPLATE_ARGUMENTS = re.compile(r"<[^<>]*>")
CLASS_HEAD = re.compile(r"\b(?:class|struct)\b([^;{}]{1,300}?)[{:]")
WORD = re.compile(r"\w+")
BRACKET = re.compile(r"[(){}\[\];,:=]")
CLOSING = {"(": ")", "{": "}", "[": "]"}


@dataclass(frozen=True)
class Name:
    """A function's name: its own, and that of the class or namespace it is in; empty if there is none."""

    scope: str
    own: str

    @staticmethod
    def parse(readable: str) -> "Name | None":
        """From the name that a debugger shows. None if it has no parameters, as the names of functions in C."""
        # The parameters of an operator would be taken for template arguments.
        plain, operator, rest = readable.partition("operator")
        while (shorter := TEMPLATE_ARGUMENTS.sub("", plain)) != plain:
            plain = shorter
        path, parenthesis, _ = (plain + operator + rest).partition("(")
        if not parenthesis:
            return None
        *scopes, own = path.split("::")
        return Name(scopes[-1] if scopes else "", own)


class Source:
    """The text of a file."""

    def __init__(self, text: str):
        self._text = text
        # Of the same length, so that places in it are places in the text.
        self._code: str | None = None

    @property
    def code(self) -> str:
        """The text with spaces in place of comments and literals."""
        if self._code is None:
            self._code = NOT_CODE.sub(lambda match: _blank(match[0]), self._text)
        return self._code

    @property
    def text(self) -> str:
        return self._text

    def class_bodies(self, name: str) -> list[tuple[int, int]]:
        """Where the bodies of classes of this name begin and end."""
        bases = r"(?:\s+final)?\s*(?::(?!:)[^;{]*)?{"
        macros = r"(?:[^;{}()]|\([^()]*\))*?"
        head = re.compile(rf"\b(?:class|struct)\s{macros}\b{re.escape(name)}\b{bases}")
        starts = (match.end() - 1 for match in head.finditer(self.code))
        return [(start, end) for start in starts if (end := _closing(self.code, start)) is not None]

    def definitions(self, name: Name, scope_is_class: bool) -> list[str]:
        """The code of every function of this name that has a body, without comments, in the order of the file."""
        # Most files do not have the name, and need not be read as code.
        if name.own.removeprefix("operator") not in self._text or name.scope not in self._text:
            return []
        bodies = self.class_bodies(name.scope) if scope_is_class else []
        return [
            code_of(self._text[start:end])
            for start, end, scope in _functions(self.code, name.own)
            if scope == name.scope or (not scope and (not scope_is_class or _is_inside(start, bodies)))
        ]


class Sources:
    """The sources of a program, by their places."""

    def __init__(self, files: dict[str, Source]):
        self.files = files
        # The words in the heads of classes, with the files. Some are in comments, or are bases and macros.
        self._heads: dict[str, list[str]] = {}
        for place, source in files.items():
            for word in {word for head in CLASS_HEAD.findall(source.text) for word in WORD.findall(head)}:
                self._heads.setdefault(word, []).append(place)

    def is_class(self, name: str) -> bool:
        return any(self.files[place].class_bodies(name) for place in self._heads.get(name, ()))

    def definitions(self, name: Name, places: Iterable[str]) -> dict[str, list[str]]:
        """The code of all functions of a name that are in some of the files, by file.

        There may be several classes of the same name, and several functions in a class.
        """
        scope_is_class = bool(name.scope) and self.is_class(name.scope)
        chosen = ((place, self.files[place]) for place in places if place in self.files)
        return {place: code for place, source in chosen if (code := source.definitions(name, scope_is_class))}

    def has(self, name: Name) -> bool:
        scope_is_class = bool(name.scope) and self.is_class(name.scope)
        return any(source.definitions(name, scope_is_class) for source in self.files.values())


def code_of(text: str) -> str:
    """A text without comments, and with one space where there were several."""
    return " ".join(NOT_CODE.sub(lambda match: match["literal"] or " ", text).split())


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def _is_inside(place: int, ranges: list[tuple[int, int]]) -> bool:
    return any(start < place < end for start, end in ranges)


def _closing(code: str, start: int) -> int | None:
    """The place after the bracket that closes the one at `start`."""
    open_brackets = [CLOSING[code[start]]]
    for match in BRACKET.finditer(code, start + 1):
        if match[0] in CLOSING:
            open_brackets.append(CLOSING[match[0]])
        elif match[0] == open_brackets[-1]:
            open_brackets.pop()
            if not open_brackets:
                return match.end()
    return None


def _functions(code: str, name: str) -> Iterator[tuple[int, int, str]]:
    """(start, end, scope) of each function with a body. The scope is that which is written before its name."""
    head = re.compile(rf"(?<![\w:~.>])((?:\w+\s*(?:<[^<>;{{}}()]*>)?\s*::\s*)*){re.escape(name)}\s*\(")
    for match in head.finditer(code):
        parameters = _closing(code, match.end() - 1)
        body = parameters and _body(code, parameters)
        end = body and _closing(code, body)
        if end:
            scopes = [part.strip() for part in TEMPLATE_ARGUMENTS.sub("", match[1]).split("::")]
            yield match.start(), end, scopes[-2] if len(scopes) > 1 else ""


def _body(code: str, place: int) -> int | None:
    """Where the body begins, if what is after the parameters of a function's name belongs to a definition."""
    in_initialisers = False
    while match := BRACKET.search(code, place):
        between = code[place : match.start()].strip()
        bracket = match[0]
        if bracket == "{":
            # A member is initialised by brackets after its name.
            if not in_initialisers or not between:
                return match.start()
        elif bracket == ":" and not in_initialisers and code[match.end() : match.end() + 1] != ":":
            in_initialisers = True
            place = match.end()
            continue
        elif bracket == ":" and in_initialisers or bracket == "," and in_initialisers:
            place = match.end()
            continue
        elif bracket != "(" or not (in_initialisers or between):
            return None
        place = _closing(code, match.start())
        if place is None:
            return None
    return None
