"""The environment in which Hugging Face renders chat templates, made from jinja2 itself."""

import copy
import json

import jinja2
from jinja2 import nodes
from jinja2.ext import Extension
from jinja2.sandbox import ImmutableSandboxedEnvironment


class Generation(Extension):
    """{% generation %} ... {% endgeneration %}: a scope whose text passes through."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        call = self.call_method("_pass_through")
        return nodes.CallBlock(call, [], [], body).set_lineno(line)

    def _pass_through(self, caller):
        return caller()


def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators,
                      sort_keys=sort_keys)


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def make_environment():
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True,
        extensions=[Generation, "jinja2.ext.loopcontrols", "jinja2.ext.do"])
    environment.filters["tojson"] = tojson
    environment.globals["raise_exception"] = raise_exception
    return environment


def render(environment, cache, source, variables):
    """("text", text) or ("error", message, whether raise_exception or an undefined value did it)."""
    try:
        if source not in cache:
            cache[source] = environment.from_string(source)
        # A copy: the filter `indent` changes a list that it is given before it fails.
        return ("text", cache[source].render(**copy.deepcopy(variables)))
    except (jinja2.exceptions.UndefinedError, jinja2.exceptions.SecurityError) as error:
        return ("error", str(error), True)
    except jinja2.exceptions.TemplateSyntaxError as error:
        return ("error", str(error), False)
    except jinja2.exceptions.TemplateError as error:
        return ("error", str(error), type(error) is jinja2.exceptions.TemplateError)
    except Exception as error:  # whatever Python raises: both sides must fail
        return ("error", f"{type(error).__name__}: {error}", False)
