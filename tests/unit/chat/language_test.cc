// Single constructs of the template language; the comparison with jinja2 covers them in breadth,
// these cases say what is meant where no Python is at hand.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "chat/chat_template.h"

namespace deltaserve {
namespace {

constexpr const char* kVariables =
    R"({"l":[3,1,2],"d":{"b":1,"a":{"c":null}},"s":"Hällo","x":5,"f":1e16,"u":18446744073709551615,
        "people":[{"name":"Bo","age":3},{"name":"al"}]})";

std::string render(const std::string& source) {
  const auto compiled = ChatTemplate::compile(source);
  if (!compiled) {
    return "compile error: " + compiled.error().message;
  }
  const auto prompt = (*compiled)->render(json::parse(kVariables)->get_object());
  return prompt ? prompt->text : "error: " + prompt.error().message;
}

void expect_all(const std::vector<std::pair<std::string, std::string>>& cases) {
  for (const auto& [source, expected] : cases) {
    EXPECT_EQ(render(source), expected) << source;
  }
}

TEST(Language, WhiteSpaceControl) {
  expect_all({
      {"a\n  {% if true %}\n  b\n  {% endif %}\nc\n", "a\n  b\nc"},
      {"a\n  {%- if true -%}\n  b\n  {%- endif -%}\nc", "abc"},
      {"a\n  {%+ if true +%}\nb{% endif %}", "a\n  \nb"},
      {"  {{ 1 }}\n\n", "  1\n"},
      {"a {#- c -#} b", "ab"},
      {"a\n  {# c #}\nb", "a\nb"},
      {"{% raw %}\n{{ x }}{% endraw %}\n!", "\n{{ x }}!"},
      {"a\r\nb\rc", "a\nb\nc"},
  });
}

TEST(Language, Scopes) {
  expect_all({
      {"{% set y = 0 %}{% for i in l %}{% set y = y + i %}{{ y }}{% endfor %}{{ y }}", "3120"},
      {"{% if true %}{% set y = 1 %}{% endif %}{{ y }}", "1"},
      {"{% set ns = namespace(n=0) %}{% for i in l %}{% set ns.n = ns.n + i %}{% endfor %}{{ ns.n "
       "}}",
       "6"},
      {"{% with a = x, b = 2 %}{{ a + b }}{% endwith %}{{ a is defined }}", "7False"},
      {"{% macro m() %}{{ late }}{% endmacro %}{% set late = 'z' %}{{ m() }}", "z"},
      {"{% set a, (b, c) = 1, (2, 3) %}{{ a }}{{ b }}{{ c }}", "123"},
      {"{% set a, b = [1] %}",
       "error: not enough values to unpack (expected 2, got 1) (line 1 of the "
       "chat template)"},
  });
}

TEST(Language, Loops) {
  expect_all({
      {"{% for i in l %}{{ loop.index }}/{{ loop.length }}{{ ',' if not loop.last }}{% endfor %}",
       "1/3,2/3,3/3"},
      {"{% for i in l if i > 1 %}{{ i }}{{ loop.revindex }}{% endfor %}", "3221"},
      {"{% for i in [] %}x{% else %}none{% endfor %}", "none"},
      {"{% for i in range(9) %}{% if i == 5 %}{% break %}{% endif %}{% if i is odd %}{% continue %}"
       "{% endif %}{{ i }}{% endfor %}",
       "024"},
      {"{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}", "b=1;a={'c': None};"},
      {"{% for c in s %}{{ c }}.{% endfor %}", "H.ä.l.l.o."},
      {"{% for i in l %}{{ loop.previtem }}<{{ loop.nextitem }} {% endfor %}", "<1 3<2 1< "},
      {"{% for i in none %}{% endfor %}",
       "error: 'NoneType' object is not iterable (line 1 of the chat template)"},
      {"{% for i in missing %}x{% endfor %}ok", "ok"},
      {"{% break %}", "compile error: chat template: line 1: 'break' outside of a loop"},
      {"{% set loop = 1 %}{{ loop }}{% for i in l %}{{ loop.index }}{% endfor %}", "1123"},
  });
}

TEST(Language, TheLoopVariableIsNotAssigned) {
  for (const char* source : {
           "{% for loop in l %}{% endfor %}",
           "{% for i, loop in l %}{% endfor %}",
           "{% for i in l %}{% if i %}{% set loop = i %}{% endif %}{% endfor %}",
           "{% for i in l %}{% set loop %}x{% endset %}{% endfor %}",
           "{% for i in l %}{% macro m() %}{% set loop = i %}{% endmacro %}{% endfor %}",
           "{% for i in l %}{% else %}{% set a, loop = 1, 2 %}{% endfor %}",
       }) {
    EXPECT_EQ(render(source),
              "compile error: chat template: line 1: can't assign to the special loop variable in "
              "a for loop")
        << source;
  }
}

TEST(Language, SelfIsATemplatesOwnName) {
  const std::string refused =
      "compile error: chat template: line 2: the variable 'self' is not supported in chat "
      "templates";
  expect_all({
      {"\n{{ self }}", refused},
      {"\n{{ self.title() if self is defined }}", refused},
      {"{% set self = 1 %}{{ self }}", "1"},
      {"{% for self in l %}{{ self }}{% endfor %}", "312"},
      {"{% macro m(self) %}{{ self }}{% endmacro %}{{ m(2) }}", "2"},
      {"{{ d.self is defined }}", "False"},
  });
}

TEST(Language, MacrosAndCalls) {
  expect_all({
      {"{% macro m(a, b='q') %}{{ a }}{{ b }}{% endmacro %}{{ m(1) }}{{ m(b=2, a=3) }}", "1q32"},
      {"{% macro m() %}<{{ caller('v') }}>{% endmacro %}{% call(w) m() %}{{ w }}{{ x }}{% endcall "
       "%}",
       "<v5>"},
      {"{% macro m() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, k=2) }}", "(1,){'k': 2}"},
      {"{% macro m(a) %}{{ a is undefined }}{% endmacro %}{{ m() }}", "True"},
      {"{% macro m(a, caller=1) %}{% endmacro %}{{ m.name }}{{ m.arguments }}{{ m.caller }}"
       "{{ m.explicit_caller }}",
       "m('a', 'caller')FalseTrue"},
      {"{% macro m() %}{{ caller.name }}{{ caller.arguments }}{% endmacro %}{% call(w) m() %}"
       "{% endcall %}",
       "None('w',)"},
      {"{% macro m() %}{% endmacro %}{{ m(1) }}",
       "error: macro 'm' takes not more than 0 argument(s) (line 1 of the chat template)"},
      {"{% macro f(n) %}{{ n }}{{ f(n - 1) if n }}{% endmacro %}{{ f(3) }}", "3210"},
  });
}

TEST(Language, PythonNumbers) {
  expect_all({
      {"{{ 7 // 2 }} {{ -7 // 2 }} {{ -7 % 3 }} {{ 7 / 2 }} {{ 4 / 2 }} {{ 2 ** 10 }} {{ 2 ** -1 "
       "}}",
       "3 -4 2 3.5 2.0 1024 0.5"},
      {"{{ f }} {{ 1e-5 }} {{ 0.1 + 0.2 }} {{ 1.0 }} {{ u }} {{ u + 1 }}",
       "1e+16 1e-05 0.30000000000000004 1.0 18446744073709551615 18446744073709551616"},
      {"{{ true + 1 }} {{ 1 == 1.0 }} {{ true == 1 }} {{ 'a' * 3 }} {{ [1] * 2 }}",
       "2 True True aaa [1, 1]"},
      {"{{ 2.5 | round }} {{ 3.5 | round }} {{ 2.675 | round(2) }} {{ 25 | round(-1) }}",
       "2.0 4.0 2.67 20"},
      {"{{ 1 / 0 }}", "error: division by zero (line 1 of the chat template)"},
      {"{{ 10 ** 100 }}", "error: integer out of range (128 bits) (line 1 of the chat template)"},
  });
}

TEST(Language, PythonPrinting) {
  expect_all({
      {"{{ [1, 'a', none, true, 2.0, (1,), {'k': 'v'}] }}",
       "[1, 'a', None, True, 2.0, (1,), {'k': 'v'}]"},
      {"{{ [\"it's\", 'q\"', 'both\\'\"', '\\n\\x00é\\u200b'] }}",
       "[\"it's\", 'q\"', 'both\\'\"', '\\n\\x00é\\u200b']"},
      {"{{ d.keys() }} {{ range(3) }} {{ none }} {{ missing }}|",
       "dict_keys(['b', 'a']) range(0, 3) None |"},
  });
}

TEST(Language, Undefined) {
  expect_all({
      {"{{ missing | default('d') }} {{ missing is defined }} {{ d.q }}|{{ d['q'] is undefined }}",
       "d False |True"},
      {"{{ missing == d.q }} {{ not missing }} {{ missing | length }} {{ missing ~ 'x' }}",
       "True True 0 x"},
      {"{{ missing + 1 }}", "error: 'missing' is undefined"},
      {"{{ missing() }}", "error: 'missing' is undefined"},
      {"{{ l[9].x }}", "error: list object has no element 9"},
      {"{{ none.x.y }}", "error: 'None' has no attribute 'x'"},
      {"{{ d.items.x }}|{{ d['items'] is callable }}", "|True"},
  });
}

TEST(Language, StringsByCodePoint) {
  expect_all({
      {"{{ s[1] }}{{ s[-1] }}{{ s[1:3] }}{{ s[::-1] }}{{ s | length }}", "äoälolläH5"},
      {"{{ s.upper() }} {{ 'STRASSE ß'.lower() }} {{ 'ß'.upper() }} {{ 'ΟΔΟΣ'.lower() }}",
       "HÄLLO strasse ß SS οδος"},
      {"{{ '\\u00a0 x\\u3000' | trim }}|{{ 'xaxx'.strip('x') }}|{{ 'a b  c'.split() }}",
       "x|a|['a', 'b', 'c']"},
      {"{{ 'a,b,c'.rsplit(',', 1) }} {{ 'a\\nb\\r\\nc'.splitlines() }}",
       "['a,b', 'c'] ['a', 'b', 'c']"},
      {"{{ s.find('l') }} {{ s.rfind('l') }} {{ s.count('l') }} {{ s.startswith(('x', 'H')) }}",
       "2 3 2 True"},
  });
}

TEST(Language, FiltersOfSequences) {
  expect_all({
      {"{{ l | sort }} {{ l | sort(reverse=true) }} {{ l | min }} {{ l | sum }} {{ l | reverse | "
       "list }}",
       "[1, 2, 3] [3, 2, 1] 1 6 [2, 1, 3]"},
      {"{{ people | map(attribute='name') | join(',') }} {{ people | selectattr('age') | list | "
       "length }}",
       "Bo,al 1"},
      {"{{ people | map(attribute='age', default='?') | list }} {{ ['b', 'A'] | sort }}",
       "[3, '?'] ['A', 'b']"},
      {"{{ l | select('gt', 1) | list }} {{ l | batch(2, 0) | list }} {{ d | dictsort | first }}",
       "[3, 2] [[3, 1], [2, 0]] ('a', {'c': None})"},
      {"{{ 1 if l | select('gt', 9) else 2 }}", "1"},
      {"{{ l | select('gt', 1) | length }}",
       "error: object of type 'generator' has no len() (line 1 of the chat template)"},
  });
}

TEST(Language, Json) {
  expect_all({
      {"{{ d | tojson }} {{ [1.0, true, none, 'é<\"'] | tojson }}",
       R"({"b": 1, "a": {"c": null}} [1.0, true, null, "é<\""])"},
      {"{{ d | tojson(indent=1) }}", "{\n \"b\": 1,\n \"a\": {\n  \"c\": null\n }\n}"},
      {"{{ d | tojson(sort_keys=true, separators=(',', ':')) }} {{ 'é😀' | "
       "tojson(ensure_ascii=true) }}",
       R"({"a":{"c":null},"b":1} "\u00e9\ud83d\ude00")"},
      {"{{ missing | tojson }}",
       "error: Object of type Undefined is not JSON serializable (line 1 of the chat template)"},
  });
}

TEST(Language, SandboxRefusesMutation) {
  for (const std::string call : {"l.append(1)", "l.pop()", "d.update({})", "d.pop('a')"}) {
    EXPECT_NE(render("{% set _ = " + call + " %}").find("is unsafe."), std::string::npos) << call;
  }
  EXPECT_EQ(render("{{ l.append is defined }}{{ l.__class__ }}"), "False");
}

TEST(Language, UnknownFiltersInConditionsFailWhenReached) {
  EXPECT_EQ(render("{% if false %}{{ x | nosuch }}{% endif %}ok"), "ok");
  EXPECT_EQ(render("{% if true %}{{ x | nosuch }}{% endif %}"),
            "error: No filter named 'nosuch' found. (line 1 of the chat template)");
}

TEST(Language, ReadsNowThroughTheLocalClock) {
  const std::string year = render("{{ strftime_now('%Y') }}");
  EXPECT_EQ(year.size(), 4U);
  EXPECT_GE(year, "2024");
}

}  // namespace
}  // namespace deltaserve
