"""Random small templates: expressions over a fixed set of variables, and statements around them.

Left out on purpose, because the server differs there and says so: HTML escaping marks (safe, escape), and top-level
`set` of a variable of the request (jinja2 then hides the request's value from macros called before the `set`).
"""

import random

VARIABLES = {
    "s": "Hello, Wörld", "t": "  a,b , c\n", "e": "", "u": "ΑΣ İx ß", "n": 7, "z": 0, "m": -3, "f": 2.5, "g": -0.125,
    "big": 12345678901234567890, "yes": True, "no": False, "nil": None, "l": [3, 1, 2], "ls": ["b", "A", "c", "a"],
    "mix": [1, "x", None, 2.5, [1], {"k": 1}], "d": {"b": 2, "a": 1, "items": "shadow"},
    "people": [{"name": "Zoë", "age": 30, "tags": ["x"]}, {"name": "al", "age": 4}, {"name": "Bo", "age": 30, "tags": []}],
    "nested": {"x": {"y": [{"z": "deep"}]}}, "long": "one two  three\nfour\tfive " * 3,
}
STRINGS = ["''", "'a'", "'b'", "','", "' '", "'lo'", "'é'", "\"it's\"", "'\\n'", "'%s'", "'Σ'", "'12'", "'3.7'", "' 4 '", "'x-y z'"]
NUMBERS = ["0", "1", "2", "3", "-1", "-2", "10", "0.5", "1.0", "2.5", "1e3", "100", "0x1f", "1_000"]
FILTERS = [
    "upper", "lower", "title", "capitalize", "trim", "trim(',')", "length", "count", "first", "last", "list", "string",
    "int", "int(5)", "float", "float(1.5)", "abs", "round", "round(1)", "round(-1)", "round(2, 'floor')", "round(method='ceil')",
    "default('D')", "default('D', true)", "d", "join", "join(', ')", "join('-', attribute='name')", "sort", "sort(reverse=true)",
    "sort(attribute='age')", "sort(case_sensitive=true)", "sort(attribute='age,name')", "unique|list", "unique(attribute='age')|list",
    "reverse|list", "reverse", "min", "max", "max(attribute='age')", "sum", "sum(attribute='age')", "sum(start=10)",
    "map('upper')|list", "map('length')|list", "map(attribute='name')|list", "map(attribute='tags', default='none')|list",
    "map(attribute='tags.0')|list", "map('default', 1)|join", "map('nosuch')|list", "map|list", "select|list", "select('string')|list",
    "select('odd')|list", "select('gt', 1)|list", "select('in', [1, 2])|list", "reject('none')|list", "reject|list",
    "selectattr('tags')|map(attribute='name')|list", "selectattr('age', 'eq', 30)|list|length", "selectattr('age', '>', 5)|first",
    "rejectattr('age', 'equalto', 30)|map(attribute='name')|join", "rejectattr('tags', 'defined')|list",
    "tojson", "tojson(indent=2)", "tojson(sort_keys=true)", "tojson(ensure_ascii=true)", "tojson(separators=(',', ':'))",
    "tojson(indent=1, separators=(';', '='))", "items|list", "dictsort", "dictsort(true, 'value')", "dictsort(reverse=true)",
    "replace('a', 'b')", "replace('l', '', 1)", "replace('', '.')", "indent", "indent(2, true)", "indent(1, blank=true)", "indent('> ')",
    "batch(2)|list", "batch(2, 0)|list", "slice(2)|list", "slice(3, 'f')|list", "groupby('age')|list", "wordcount",
    "urlencode", "center(20)", "truncate(5)", "truncate(9, true)", "truncate(8, false, '', 0)", "format(1)", "attr('name')",
    "xfilter", "list|length", "list|last", "string|length", "tojson|length",
]
TESTS = [
    "defined", "undefined", "none", "string", "number", "integer", "float", "boolean", "true", "false", "mapping", "iterable",
    "sequence", "callable", "odd", "even", "divisibleby(3)", "divisibleby 2", "lower", "upper", "eq(1)", "equalto 'a'", "ne 2", "lt 3",
    "le 1", "gt 0", "ge(2.5)", "in [1, 2, 'a']", "in 'abc'", "sameas none", "sameas true", "filter", "test", "xtest",
]
METHODS = [
    "upper()", "lower()", "strip()", "strip(' a')", "lstrip()", "rstrip('\\n ')", "split()", "split(',')", "split(',', 1)", "split(none, 1)",
    "split(sep=' ', maxsplit=2)", "rsplit(',', 1)", "rsplit(' ')", "splitlines()", "splitlines(true)", "startswith('H')",
    "startswith(('a', ' '))", "endswith('d')", "endswith('')", "replace('l', 'L')", "replace('l', 'L', 1)", "replace('', '-', 3)", "find('o')",
    "find('o', 5)", "find('zz')", "rfind('o')", "index('l')", "index('zz')", "count('l')", "count('')", "count('l', 3, -1)", "title()",
    "capitalize()", "swapcase()", "casefold()", "isdigit()", "isalpha()", "isalnum()", "isspace()", "isupper()", "islower()", "istitle()",
    "isnumeric()", "isdecimal()", "isascii()", "zfill(8)", "center(15, '*')", "ljust(15)", "rjust(15, '.')", "removeprefix('He')",
    "removesuffix('d')", "partition(',')", "rpartition('o')", "join(ls)", "join('xyz')", "join(mix)", "format(1)", "items()", "keys()",
    "values()", "items()|list", "get('a')", "get('q')", "get('q', 5)", "copy()", "append(1)", "pop()", "update({})", "index(2)", "count(1)",
    "name", "a", "items", "nosuch", "nosuch.more", "x.y[0].z", "__class__", "_private", "0", "tags",
]
SUBSCRIPTS = ["[0]", "[-1]", "[1]", "[99]", "['a']", "['name']", "['items']", "['nosuch']", "['upper']", "[1.0]", "[true]", "[nosuch]"]
# Of variables only: where jinja2 folds a constant, slices that cannot be taken are undefined, not errors.
SLICES = ["[1:]", "[:-1]", "[::-1]", "[1:3]", "[::2]", "[-2:]", "[5:1:-2]", "[none:2]", "[:]", "[::0]", "['a':]", "[n:]", "[:missing]"]
BINARY = ["+", "-", "*", "/", "//", "%", "~", "==", "!=", "<", "<=", ">", ">=", "in", "not in", "and", "or"]
# Small operands only: Python would compute 100 ** 12345678901234567890 to its last digit. No literal sign on the left:
# jinja2 writes `-1 ** z` into Python code as it stands, where the sign binds less than the power.
POWERS = ["0", "1", "2", "3", "-1", "-2", "0.5", "2.5", "n", "z", "m", "f", "yes", "nil", "s", "missing"]
SPECS = ["'%s'", "'%d'", "'%5.1f'", "'%-8s|'", "'%+d'", "'%x'", "'%r'", "'%s %s'", "'%%'", "'%(a)s'", "'%05d'", "'%.3s'", "'%e'", "'%g'", "'%c'", "'%z'"]
BRACES = ["'{}'", "'{0}-{0}'", "'{:>8}|'", "'{:<8}|'", "'{:^9}|'", "'{:05}'", "'{:.2f}'", "'{:,}'", "'{!r}'", "'{:x}'", "'{:+}'", "'{0[0]}'",
          "'{0.name}'", "'{a}'", "'{{}}'", "'{:*^7}'", "'{:.3}'", "'{:%}'", "'{:e}'", "'{'", "'{:d}'", "'{:#x}'", "'{:g}'", "'{1}'", "'{:_}'"]


class Maker:
    def __init__(self, seed):
        self.rng = random.Random(seed)

    def atom(self):
        kind = self.rng.random()
        if kind < 0.55:
            return self.rng.choice(list(VARIABLES) + ["missing"])
        if kind < 0.7:
            return self.rng.choice(STRINGS)
        if kind < 0.85:
            return self.rng.choice(NUMBERS)
        if kind < 0.9:
            return self.rng.choice(["true", "false", "none", "True", "None"])
        return self.rng.choice(["[]", "()", "{}", "[1, 'a']", "(1,)", "{'a': 1}", "{1: 'x', 'b': [2]}", "range(4)", "range(5, 0, -2)",
                                "dict(a=1)", "namespace(a=1)", "[l, ls]", "(n, f)"])

    def expression(self, depth=0):
        kind = self.rng.random()
        if depth > 2 or kind < 0.15:
            return self.atom()
        inner = self.expression(depth + 1)
        if kind < 0.4:
            return f"{self.wrapped(inner)}|{self.rng.choice(FILTERS)}"
        if kind < 0.5:
            return f"{self.wrapped(inner)} is {self.rng.choice(['', 'not '])}{self.rng.choice(TESTS)}"
        if kind < 0.62:
            return f"{self.wrapped(inner)}.{self.rng.choice(METHODS)}"
        if kind < 0.66:
            return f"{self.wrapped(inner)}{self.rng.choice(SUBSCRIPTS)}"
        if kind < 0.7:
            return f"{self.rng.choice(list(VARIABLES))}{self.rng.choice(SLICES)}"
        if kind < 0.88:
            if self.rng.random() < 0.05:
                return f"{self.rng.choice(POWERS).lstrip('-')} ** {self.rng.choice(POWERS)}"
            other = self.expression(depth + 1)
            result = f"{self.wrapped(inner)} {self.rng.choice(BINARY)} {self.wrapped(other)}"
            return result if self.rng.random() < 0.8 else f"{result} {self.rng.choice(BINARY)} {self.atom()}"
        if kind < 0.92:
            return f"{inner} if {self.expression(depth + 1)}" + (f" else {self.expression(depth + 1)}" if self.rng.random() < 0.8 else "")
        if kind < 0.94:
            return self.rng.choice(["not ", "-", "+"]) + self.wrapped(inner)
        if kind < 0.97:
            return f"{self.rng.choice(SPECS)} % {self.wrapped(inner)}"
        return f"{self.rng.choice(BRACES)}.format({inner})"

    def wrapped(self, text):
        return text if self.rng.random() < 0.2 else f"({text})"

    def spacing(self):
        return self.rng.choice(["", "", " ", "\n", "  \n", "\n  ", "text", " text\n", "\n\n", "\t"])

    def tag(self, text):
        return "{%" + self.rng.choice(["", "", "-", "+"]) + f" {text} " + self.rng.choice(["", "", "-", "+"]) + "%}"

    def output(self, text):
        return "{{" + self.rng.choice(["", "", "-"]) + f" {text} " + self.rng.choice(["", "-"]) + "}}"

    def block(self, depth=0):
        r, pieces = self.rng, []
        for _ in range(r.randrange(1, 4)):
            kind = r.random()
            pieces.append(self.spacing())
            if depth > 2 or kind < 0.4:
                pieces.append(self.output(self.expression(1)))
            elif kind < 0.55:
                pieces += [self.tag(f"if {self.expression(1)}"), self.block(depth + 1)]
                if r.random() < 0.4:
                    pieces += [self.tag(f"elif {self.expression(1)}"), self.block(depth + 1)]
                if r.random() < 0.5:
                    pieces += [self.tag("else"), self.block(depth + 1)]
                pieces.append(self.tag("endif"))
            elif kind < 0.72:
                target = r.choice(["x", "x", "a, b", "n"])
                source = r.choice(["l", "ls", "people", "d", "d.items()", "range(3)", "s[:3]", "people|groupby('age')", self.expression(1)])
                condition = f" if {self.expression(1)}" if r.random() < 0.25 else ""
                pieces += [self.tag(f"for {target} in {source}{condition}"), self.output(r.choice(["x", "a", "loop.index", "loop.last", "loop.revindex",
                           "loop.previtem", "loop.nextitem", "loop.length", "loop.cycle('p', 'q')", "loop.changed(loop.first)", "loop.first ~ loop.revindex0"])),
                           self.block(depth + 1)]
                if r.random() < 0.2:
                    pieces += [self.tag("if loop.index > 1"), self.tag(r.choice(["break", "continue"])), self.tag("endif")]
                if r.random() < 0.2:
                    pieces += [self.tag("else"), "none"]
                pieces.append(self.tag("endfor"))
            elif kind < 0.8:
                pieces.append(self.tag(f"set {r.choice(['x', 'x', 'y', 'ns.a', 'a, b'])} = {self.expression(1)}"))
            elif kind < 0.84:
                pieces += [self.tag(r.choice(["set x", "set x | upper", "filter upper", "filter replace('a', 'b') | trim", "with x = n", "generation"])), self.block(depth + 1)]
                opened = pieces[-2].strip("{%-+ }").split()[0]
                pieces.append(self.tag("end" + opened))
            elif kind < 0.9:
                pieces += [self.tag("macro mm(x, y=2)"), self.block(depth + 1), self.output(r.choice(["x", "y", "varargs", "kwargs", "caller()"])), self.tag("endmacro"),
                           self.output(r.choice(["mm()", "mm(1)", "mm(l, y=s)", "mm(1, 2, 3)", "mm(q=1)", "mm.name"]))]
                if r.random() < 0.3:
                    pieces += [self.tag("call mm(5)"), self.block(depth + 1), self.tag("endcall")]
            elif kind < 0.93:
                pieces.append("{#" + r.choice(["", "-"]) + " note " + r.choice(["", "-"]) + "#}")
            elif kind < 0.95:
                pieces += ["{%" + r.choice(["", "-"]) + " raw %}", "{{ x }} {% if", self.spacing(), "{%" + r.choice(["", "-"]) + " endraw " + r.choice(["", "-"]) + "%}"]
            elif kind < 0.98:
                pieces.append(self.tag(r.choice(["set ns = namespace(a=1)", "set ns.a = ns.a + 1", "do l.append(1)", "do ns", "set _ = l.append(1)"])))
            else:
                pieces.append(r.choice(["{{ x", "{% if %}", "{% endfor %}", "{{ 'a }}", "{{ a b }}", "{% nosuch %}", "{{ 1 | }}", "}}", "%}", "{{ (1 }}", "{% set 1 = 2 %}"]))
            pieces.append(self.spacing())
        return "".join(pieces)


def make(seed, expressions, blocks):
    maker = Maker(seed)
    templates = ["{{ " + maker.expression() + " }}" for _ in range(expressions)]
    return templates + [maker.block() for _ in range(blocks)]
