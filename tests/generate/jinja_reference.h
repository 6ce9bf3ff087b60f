// Small templates and what the reference implementation (Jinja2 3.1, with trim_blocks, lstrip_blocks and loop controls)
// makes of them with kVariables.
#pragma once

#include <utility>

namespace powerinfer::generate {

inline constexpr const char* kVariables = R"({"messages": [{"role": "user", "content": "Hi"},
    {"role": "assistant", "content": "Yo", "n": 3}, {"role": "user", "content": "Bye"}],
    "d": {"b": 1, "A": 2, "c": null}, "s": "  Zürich & 世界  ", "l": [3, 1, 2], "f": 1.5, "t": true, "n": null, "e": "",
    "words": "the quick  brown fox", "items2": {"items": 7, "x y": 1}})";

// clang-format off
inline constexpr std::pair<const char*, const char*> kReference[] = {
    {R"(a{% if t %}b{% endif %}c)",
     R"(abc)"},
    {R"(a
  {% if t %}
  b
  {% endif %}
c
)",
     R"(a
  b
c)"},
    {R"(a
  {%- if t -%}
  b
  {%- endif -%}
  c
)",
     R"(abc)"},
    {R"(  {%+ if t %}x{% endif +%}
y)",
     R"(  x
y)"},
    {R"({# c #}
x {# y #}
  {# z #}
q)",
     R"(x q)"},
    {R"({% raw %}{{ x }} {% y %}{% endraw %}
z)",
     R"({{ x }} {% y %}z)"},
    {R"({{ 'a' }}
{{ 'b' -}}
 {{ 'c' }}

)",
     R"(a
bc
)"},
    {R"(x


)",
     R"(x

)"},
    {R"({% for m in messages %}
{{ m.role }}{% if not loop.last %},{% endif %}
{% endfor %})",
     R"(user,assistant,user)"},
    {R"({% for m in messages if m.role == 'user' %}{{ loop.index }}/{{ loop.length }}:{{ m.content }} {% else %}none{% endfor %})",
     R"(1/2:Hi 2/2:Bye )"},
    {R"({% for x in [] %}a{% else %}empty{% endfor %})",
     R"(empty)"},
    {R"({% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %})",
     R"(b=1;A=2;c=None;)"},
    {R"({% for k in d %}{{ k }}{% endfor %})",
     R"(bAc)"},
    {R"({% for a, b in [(1, 2), [3, 4]] %}{{ a + b }} {% endfor %})",
     R"(3 7 )"},
    {R"({% for x in 'aé世' %}[{{ x }}]{% endfor %})",
     R"([a][é][世])"},
    {R"({% for x in range(3) %}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.previtem }}{{ loop.nextitem }} {% endfor %})",
     R"(032True1 121False02 210False1 )"},
    {R"({% for x in range(10) %}{% if x == 2 %}{% continue %}{% endif %}{% if x > 4 %}{% break %}{% endif %}{{ x }}{% endfor %})",
     R"(0134)"},
    {R"({% set x = 1 %}{% for i in range(3) %}{% set x = x + i %}{{ x }} {% endfor %}{{ x }})",
     R"(1 2 3 1)"},
    {R"({% set ns = namespace(x=0, y='a') %}{% for i in range(4) %}{% set ns.x = ns.x + i %}{% endfor %}{{ ns.x }}{{ ns.y }})",
     R"(6a)"},
    {R"({% if n %}1{% elif e %}2{% elif f %}3{% else %}4{% endif %})",
     R"(3)"},
    {R"({% set a, b = 1, 'two' %}{{ a }}{{ b }})",
     R"(1two)"},
    {R"({% set x %}block {{ t }}{% endset %}[{{ x }}])",
     R"([block True])"},
    {R"({% set x | upper %}block {{ t }}{% endset %}[{{ x }}])",
     R"([BLOCK TRUE])"},
    {R"({% filter upper | replace('A', '4') %}banana{{ s }}{% endfilter %})",
     R"(B4N4N4  ZÜRICH & 世界  )"},
    {R"({% with x = 3, y = 4 %}{{ x * y }}{% endwith %}{{ x is defined }})",
     R"(12False)"},
    {R"({% macro m(a, b='B', c=none) %}<{{ a }}{{ b }}{{ c }}>{% endmacro %}{{ m(1) }}{{ m(1, c=2) }}{{ m(b=1, a=0) }})",
     R"(<1BNone><1B2><01None>)"},
    {R"({% macro outer() %}[{{ caller('x') }}]{% endmacro %}{% call(v) outer() %}v={{ v }}{% endcall %})",
     R"([v=x])"},
    {R"({% macro fac(n) %}{% if n <= 1 %}1{% else %}{{ n * (fac(n - 1) | int) }}{% endif %}{% endmacro %}{{ fac(10) }})",
     R"(3628800)"},
    {R"({% macro a() %}{{ later }}{% endmacro %}{% set later = 5 %}{{ a() }})",
     R"(5)"},
    {R"({{ 7 // 2 }} {{ -7 // 2 }} {{ 7 % 3 }} {{ -7 % 3 }} {{ 7 / 2 }} {{ 4 / 2 }} {{ 2 ** 10 }} {{ 2 ** -1 }} {{ 7.5 // 2 }} {{ -7.5 % 2 }})",
     R"(3 -4 1 2 3.5 2.0 1024 0.5 3.0 0.5)"},
    {R"({{ 1 + 2 * 3 - 4 }} {{ (1 + 2) * 3 }} {{ -2 ** 2 }} {{ 1 ~ 2 ~ 'x' }} {{ 'a' ~ n ~ t }} {{ 1 + 1.5 }})",
     R"(3 9 4 12x aNoneTrue 2.5)"},
    {R"({{ 0.1 + 0.2 }} {{ 1e16 }} {{ 1e15 }} {{ 1e-5 }} {{ 0.0001 }} {{ 100.0 }} {{ 1.5e300 * 1e10 }} {{ 123456789.125 }} {{ 5e-324 }})",
     R"(0.30000000000000004 1e+16 1000000000000000.0 1e-05 0.0001 100.0 inf 123456789.125 5e-324)"},
    {R"({{ 1 < 2 < 3 }} {{ 1 < 3 < 2 }} {{ 1 == 1.0 }} {{ t == 1 }} {{ 'a' < 'b' }} {{ [1, 2] < [1, 3] }} {{ 1 != '1' }} {{ none == n }})",
     R"(True False True True True True True True)"},
    {R"({{ 1 in l }} {{ 9 not in l }} {{ 'r' in words }} {{ 'b' in d }} {{ not t }} {{ not not e }} {{ t and e }} {{ e or f }} {{ n or 'x' }})",
     R"(True True True True False False  1.5 x)"},
    {R"({{ 'yes' if t else 'no' }} {{ 'yes' if n }} {{ 'a' if n else 'b' if e else 'c' }})",
     R"(yes  c)"},
    {R"({{ [1, 'a', none, true, 1.5, {'k': [1]}, (1,), (1, 2), ()] }} {{ {} }} {{ [] }} {{ ["it's", 'q"q', 'both\'"', 'a\nb\\'] }})",
     R"([1, 'a', None, True, 1.5, {'k': [1]}, (1,), (1, 2), ()] {} [] ["it's", 'q"q', 'both\'"', 'a\nb\\'])"},
    {R"({{ l[0] }}{{ l[-1] }}{{ l[5] }}{{ l[1:] }}{{ l[:-1] }}{{ l[::-1] }}{{ l[::2] }}{{ l[5:] }}{{ l[-2:] }})",
     R"(32[1, 2][3, 1][2, 1, 3][3, 2][][1, 2])"},
    {R"({{ s[2] }}{{ s[2:5] }}{{ s[::-1] }}{{ s[-4:] }}{{ s[-4:-2] }}|{{ s[100:] }}|{{ 'abc'[10:0:-1] }})",
     R"(ZZür  界世 & hcirüZ  世界  世界||cb)"},
    {R"({{ d.b }}{{ d['A'] }}{{ d.missing }}{{ d['missing'] }}{{ d.get('x', 5) }}{{ d.get('x') }}{{ d.keys() | list }}{{ d.values() | list }})",
     R"(125None['b', 'A', 'c'][1, 2, None])"},
    {R"({{ items2['items'] }} {{ items2['x y'] }})",
     R"(7 1)"},
    {R"({{ s | trim }}|{{ s.strip() }}|{{ s.lstrip() }}|{{ s.rstrip() }}|{{ 'xxaxx'.strip('x') }}|{{ 'xyaxy'.lstrip('yx') }})",
     R"(Zürich & 世界|Zürich & 世界|Zürich & 世界  |  Zürich & 世界|a|axy)"},
    {R"({{ 'aBc dEf' | upper }} {{ 'aBc' | lower }} {{ 'aBc dEf' | capitalize }} {{ 'hello world-foo' | title }} {{ 'hello world' .title() }})",
     R"(ABC DEF abc Abc def Hello World-Foo Hello World)"},
    {R"({{ words.split() }} {{ words.split(' ') }} {{ words.split(' ', 1) }} {{ words.rsplit(' ', 1) }} {{ 'a,b,,c'.split(',') }} {{ words.split(none, 1) }} {{ words.rsplit(none, 2) }})",
     R"(['the', 'quick', 'brown', 'fox'] ['the', 'quick', '', 'brown', 'fox'] ['the', 'quick  brown fox'] ['the quick  brown', 'fox'] ['a', 'b', '', 'c'] ['the', 'quick  brown fox'] ['the quick', 'brown', 'fox'])"},
    {R"({{ words.startswith('the') }} {{ words.endswith(('x', 'y')) }} {{ words.replace(' ', '_') }} {{ words.replace(' ', '_', 1) }} {{ words | replace('o', '0') }})",
     R"(True True the_quick__brown_fox the_quick  brown fox the quick  br0wn f0x)"},
    {R"({{ words.find('q') }} {{ words.find('zz') }} {{ words.count('o') }} {{ ', '.join(['a', 'b']) }} {{ '{} {}'.format(1, 'b') }} {{ '{a}-{0}'.format(2, a=3) }})",
     R"(4 -1 2 a, b 1 b 3-2)"},
    {R"({{ 'abc'.isdigit() }} {{ '12'.isdigit() }} {{ 'ab'.isalpha() }} {{ 'AB'.isupper() }} {{ ' '.isspace() }} {{ 'a1'.isalnum() }})",
     R"(False True True True True True)"},
    {R"({{ l | sort }} {{ l | sort(reverse=true) }} {{ ['b', 'A', 'c'] | sort }} {{ ['b', 'A', 'c'] | sort(case_sensitive=true) }} {{ messages | sort(attribute='content') | map(attribute='content') | list }})",
     R"([1, 2, 3] [3, 2, 1] ['A', 'b', 'c'] ['A', 'b', 'c'] ['Bye', 'Hi', 'Yo'])"},
    {R"({{ l | min }} {{ l | max }} {{ l | sum }} {{ l | first }} {{ l | last }} {{ l | length }} {{ l | count }} {{ l | reverse | list }} {{ 'abc' | reverse }})",
     R"(1 3 6 3 2 3 3 [2, 1, 3] cba)"},
    {R"({{ l | join(', ') }} {{ l | join }} {{ messages | join(';', attribute='role') }} {{ [1, none, 'a'] | join('-') }})",
     R"(3, 1, 2 312 user;assistant;user 1-None-a)"},
    {R"({{ messages | map(attribute='role') | list }} {{ ['a', 'b'] | map('upper') | list }} {{ messages | map(attribute='n', default=0) | list }})",
     R"(['user', 'assistant', 'user'] ['A', 'B'] [0, 3, 0])"},
    {R"({{ messages | selectattr('role', 'equalto', 'user') | list | length }} {{ messages | selectattr('n') | list | length }} {{ messages | rejectattr('role', 'eq', 'user') | map(attribute='content') | join }})",
     R"(2 1 Yo)"},
    {R"({{ l | select('odd') | list }} {{ l | reject('gt', 1) | list }} {{ [0, 1, '', 'a'] | select | list }} {{ messages | selectattr('n', 'defined') | list | length }})",
     R"([3, 1] [1] [1, 'a'] 1)"},
    {R"({{ [1, 1, 2, 'a', 'A'] | unique | list }} {{ d | dictsort }} {{ d.items() | list }} {{ d | items | list }})",
     R"([1, 2, 'a'] [('A', 2), ('b', 1), ('c', None)] [('b', 1), ('A', 2), ('c', None)] [('b', 1), ('A', 2), ('c', None)])"},
    {R"({{ n | default('x') is none }} {{ missing | default('x') }} {{ e | default('x', true) }} {{ missing | d('y') }} {{ e | default('x') }}|)",
     R"(True x x y |)"},
    {R"({{ '42' | int }} {{ 'x' | int }} {{ 'x' | int(7) }} {{ '3.7' | int }} {{ 3.9 | int }} {{ 'ff' | int(base=16) }} {{ '2.5' | float }} {{ 'q' | float }} {{ true | int }})",
     R"(42 0 7 3 3 255 2.5 0.0 1)"},
    {R"({{ 2.567 | round(2) }} {{ 2.5 | round }} {{ 2.1 | round(0, 'ceil') }} {{ 2.9 | round(method='floor') }} {{ -3 | abs }} {{ 3.5 | abs }} {{ 7 | round }})",
     R"(2.57 2.0 3.0 2.0 3 3.5 7)"},
    {R"({{ 'a\nb\n\nc' | indent }} {{ 'a\nb' | indent(2, true) }} {{ 'a\n\nb' | indent(1, blank=true) }} {{ 'a\nb' | indent('>>') }})",
     R"(a
    b

    c   a
  b a
 
 b a
>>b)"},
    {R"({{ d | tojson }} {{ s | tojson }} {{ l | tojson }} {{ f | tojson }} {{ 'q"\\\n\t<&>\x01' | tojson }} {{ none | tojson }} {{ 'é' | tojson(ensure_ascii=true) }})",
     R"({"b": 1, "A": 2, "c": null} "  Zürich & 世界  " [3, 1, 2] 1.5 "q\"\\\n\t<&>\u0001" null "\u00e9")"},
    {R"({{ {'a': [1, {'b': 2}], 'c': {}, 'd': []} | tojson(indent=2) }})",
     R"({
  "a": [
    1,
    {
      "b": 2
    }
  ],
  "c": {},
  "d": []
})"},
    {R"({{ {'b': 1, 'a': [1, 2]} | tojson(separators=(',', ':'), sort_keys=true) }})",
     R"({"a":[1,2],"b":1})"},
    {R"({{ '%s is %d and %.2f%%' | format('x', 3, 1.239) }} {{ 'v%s' % 5 }} {{ '%s-%s' % (1, 'b') }})",
     R"(x is 3 and 1.24% v5 1-b)"},
    {R"({{ [1, 2, 3, 4, 5] | batch(2) | list }} {{ [1, 2, 3, 4, 5] | slice(2) | list }} {{ [1, 2, 3] | batch(2, 0) | list }})",
     R"([[1, 2], [3, 4], [5]] [[1, 2, 3], [4, 5]] [[1, 2], [3, 0]])"},
    {R"({{ 'a' is string }} {{ 1 is number }} {{ 1 is integer }} {{ 1.0 is float }} {{ t is boolean }} {{ n is none }} {{ d is mapping }} {{ l is sequence }} {{ l is iterable }} {{ 'a' is iterable }} {{ 1 is iterable }})",
     R"(True True True True True True True True True True False)"},
    {R"({{ x is defined }} {{ x is undefined }} {{ d.b is defined }} {{ d.q is not defined }} {{ 4 is even }} {{ 4 is divisibleby 2 }} {{ 4 is divisibleby(3) }} {{ 3 is odd }} {{ t is true }} {{ t is false }})",
     R"(False True True True True True False True True False)"},
    {R"({{ 1 is eq 1 }} {{ 1 is ne(1) }} {{ 2 is gt 1 }} {{ 2 is lessthan 1 }} {{ 'a' is in ['a'] }} {{ 'A' is upper }} {{ 'a' is lower }} {{ 1 is sameas true }} {{ t is sameas true }} {{ range is callable }})",
     R"(True False True False True True True False True True)"},
    {R"({{ 'a' if x is defined and x else 'b' }} {{ not x is defined }} {{ 'q' if d.b is not none else 'r' }})",
     R"(b True q)"},
    {R"({{ range(5) | list }} {{ range(2, 5) | list }} {{ range(5, 0, -2) | list }} {{ dict(a=1, b='x') }} {{ dict([('a', 1)]) }})",
     R"([0, 1, 2, 3, 4] [2, 3, 4] [5, 3, 1] {'a': 1, 'b': 'x'} {'a': 1})"},
    {R"({{ "a\tb\\n\u00e9\x41\'\"" }}{{ 'a' 'b' "c" }})",
     R"(a	b\néA'"abc)"},
    {R"({{ {'a': {'b': 1}} }}{{ {'a': {'b': 1}}.a.b }}{{ {1: 'x'}[1] }})",
     R"({'a': {'b': 1}}1x)"},
    {R"({{ 'x' * 3 }}{{ [1] * 2 }}{{ 3 * 'ab' }}{{ 'a' * -1 }})",
     R"(xxx[1, 1]ababab)"},
    {R"({{ ('a', 'b')[1] }}{{ (1) }}{{ (1, 2) + (3,) }})",
     R"(b1(1, 2, 3))"},
    {R"({{ messages[0]['role'] ~ messages[-1].content }} {{ messages | length }} {{ (messages | last).content }})",
     R"(userBye 3 Bye)"},
    {R"({{ '<a href="x">&\'' | escape }} {{ '<b>' | safe }} {{ '<i>' | e }})",
     R"(&lt;a href=&#34;x&#34;&gt;&amp;&#39; <b> &lt;i&gt;)"},
    {R"({{ 5 | string + '6' }} {{ [1] | string }} {{ none | string }} {{ t | string | lower }})",
     R"(56 [1] None true)"},
    {R"({% if messages[0].role == 'user' and messages | length > 2 %}ok{% endif %})",
     R"(ok)"},
    {R"({% for m in messages %}{% set content = m.content | trim %}{% if loop.first and content %}{{ content }}{% endif %}{% endfor %})",
     R"(Hi)"},
    {R"({%- set x = [] -%}{{ x }} 
 {%- if true %}  a{%- endif %})",
     R"([]  a)"},
    {R"({% generation %}x{% endgeneration %})",
     R"(x)"},
    {R"({{ 1_000 }}{{ +5 }}{{ - 5 }}{{ 1 if true }})",
     R"(10005-51)"},
    {R"({{ [[1, 2], [3, 4]] | map('first') | list }} {{ [[1, 2], [3, 4]] | map('join', '-') | list }} {{ [{'a': {'b': 5}}] | map(attribute='a.b') | list }})",
     R"([1, 3] ['1-2', '3-4'] [5])"},
    {R"({{ l.index(1) }} {{ l.count(1) }} {{ "abc".removeprefix('a') }} {{ 'a\r\nb\nc'.splitlines() }})",
     R"(1 1 bc ['a', 'b', 'c'])"},
    {R"({{ not (1 > 2) }}{{ not 1 > 2 }}{{ 1 if not false and true }})",
     R"(TrueTrue1)"},
    {R"({{ ['a', 'b'] == ['a', 'b'] }} {{ {'a': 1, 'b': 2} == {'b': 2, 'a': 1} }} {{ messages[0] == messages[2] }} {{ (1,) == [1] }})",
     R"(True True False False)"},
    {R"({{ '%05d' | length }} {{ 'a' ~ 1.0 ~ [1] }} {{ 10 / 3 }} {{ 1e100 }} {{ 12345678901234567890.0 }})",
     R"(4 a1.0[1] 3.3333333333333335 1e+100 1.2345678901234567e+19)"},
};
// clang-format on

}  // namespace powerinfer::generate
