// The template language: small templates against the reference implementation, and hostile ones against the
// limits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "error_message.h"
#include "generate/jinja_eval.h"
#include "jinja_reference.h"

namespace powerinfer::generate {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

std::string render(const std::string& source, const jinja::Limits& limits = {}) {
    return jinja::Evaluator(limits).run(jinja::parse(source), jinja::from_json(kVariables, "variables"));
}

std::string error_of(const std::string& source) {
    return test::message_of([&] { render(source); });
}

TEST(Jinja, RendersAsTheReferenceDoes) {
    for (const auto& [source, want] : kReference) {
        std::string got;
        const std::string error = test::message_of([&, s = source] { got = render(s); });
        EXPECT_EQ(error, "(no error)") << source;
        EXPECT_EQ(got, want) << source;
    }
}

TEST(Jinja, Indulgences) {
    EXPECT_EQ(render("{{ 'a' + n }}{{ n + 'b' }}{{ 'c' + missing }}"), "abc");
    EXPECT_EQ(render("{% for k, v in d %}{{ k }}{{ v }} {% endfor %}"), "b1 A2 cNone ");
    EXPECT_EQ(render("{% for x in n %}x{% endfor %}."), ".");
    EXPECT_EQ(render("{% set a = [] %}{% set x = a.append(5) %}{{ a }}{{ a.pop() }}{{ a }}"), "[5]5[]");
    EXPECT_EQ(render("a\r\nb\rc\r\n"), "a\nb\nc");
    EXPECT_EQ(render("{{ strftime_now('%Y') | length }}{{ strftime_now('') }}"), "4");
}

TEST(Jinja, ErrorsNameTheLine) {
    const std::vector<std::pair<const char*, const char*>> cases = {
        {"a\n{{ x", "line 2: a tag is not closed by '}}'"},
        {"\n\n{% if t %}", "line 3"},
        {"{% if t %}\n{% endfor %}", "line 2: there is no statement 'endfor' here"},
        {"{{ 'abc }}", "line 1: a string is not closed"},
        {"{{ 1 + }}", "expected an expression, found '}}'"},
        {"{{ a b }}", "expected '}}', found b"},
        {"{# never", "a comment is not closed"},
        {"{% raw %}x", "'endraw'"},
        {"{% frob %}", "no statement 'frob'"},
        {"{% include 'x' %}", "no statement 'include'"},
        {"{{ s | frobnicate }}", "line 1: there is no filter 'frobnicate'"},
        {"\n{{ s is frobbed }}", "line 2: there is no test 'frobbed'"},
        {"{{ frob() }}", "'frob' is not defined"},
        {"\n\n{{ missing.x }}", "line 3: 'missing' is not defined"},
        {"{{ d.q.r }}", "a dict has no attribute 'q'"},
        {"{{ 1 / 0 }}{{ 1 % 0 }}", "division by zero"},
        {"{{ 1 % 0 }}", "division by zero"},
        {"{{ 9223372036854775807 + 1 }}", "does not fit 64 bits"},
        {"{{ 99999999999999999999 }}", "fits 64 bits"},
        {"{{ l + 1 }}", "'+' cannot be applied to a list and a integer"},
        {"{{ 1 < 'a' }}", "have no order"},
        {"{{ l | sort(attribute='x') }}", "no order"},
        {"{{ missing | tojson }}", "'missing' is not defined"},
        {"{{ raise_exception('no such role') }}", "refuses this conversation (line 1): no such role"},
        {"{% set d.x = 1 %}", "only attributes of a namespace"},
        {"{% for a, b in [1] %}{% endfor %}", "no items to go through"},
        {"{% for a, b in [[1]] %}{% endfor %}", "1 values cannot be given to 2 names"},
        {"{% break %}", "a for loop around 'break'"},
        {"{% macro m(a) %}{% endmacro %}{{ m(1, 2) }}", "takes 1 arguments, not 2"},
        {"{% macro m(a) %}{% endmacro %}{{ m(b=2) }}", "no parameter 'b'"},
        {"{{ s.strip(1, 2) }}", "'strip' takes up to 1"},
        {"{{ s | indent(wide=1) }}", "'indent' has no parameter 'wide'"},
        {"{{ '\\u12' }}", "incomplete escape"},
        {"{{ ) }}", "')' closes nothing"},
        {"{{ a ? b }}", "'?' has no meaning"},
        {"{{ 'x'.join([1]) }}", "needs a string, not a integer"},
        {"{{ l[::0] }}", "step of a slice is 0"},
    };
    for (const auto& [source, part] : cases) EXPECT_THAT(error_of(source), HasSubstr(part)) << source;
}

#if defined(NDEBUG) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
constexpr double kSecondsAllowed = 10;
#else
constexpr double kSecondsAllowed = 100;
#endif

TEST(Jinja, HostileTemplatesEnd) {
    const auto many = [](const std::string& s, int n) {
        std::string out;
        for (int i = 0; i < n; ++i) out += s;
        return out;
    };
    const std::string loop = "{% for a in range(10000) %}";
    const std::vector<std::string> cases = {
        "{{ " + many("(", 100000) + " }}",
        "{{ " + many("[", 100000) + " }}",
        "{{ " + many("not ", 100000) + "t }}",
        "{{ " + many("-", 100000) + "1 }}",
        "{{ 1" + many("+1", 100000) + " }}",
        "{{ d" + many(".a", 100000) + " }}",
        "{{ s" + many("|trim", 100000) + " }}",
        "{{ 1" + many(" if t else 1", 100000) + " }}",
        many("{% if t %}", 10000),
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
        many(loop, 4) + "x" + many("{% endfor %}", 4),
        "{{ range(1000000000000) }}",
        "{{ range(-9223372036854775807, 9223372036854775807) }}",
        "{{ 'x' * 1000000000000 }}",
        "{{ 'xy' * 9223372036854775807 }}",
        "{{ [1] * 100000000 }}",
        "{% set ns = namespace(s='xxxxxxxx') %}{% for i in range(100) %}{% set ns.s = ns.s + ns.s %}{% "
        "endfor %}",
        "{% set ns = namespace(s='xxxxxxxx') %}{% for i in range(100) %}{% set ns.s = ns.s ~ ns.s %}{% "
        "endfor %}",
        "{% set ns = namespace(s=[1]) %}{% for i in range(100) %}{% set ns.s = ns.s + ns.s %}{% endfor %}",
        "{% set ns = namespace(s=[1]) %}{% for i in range(90) %}{% set ns.s = [ns.s, ns.s] %}{% endfor %}{{ "
        "ns.s }}",
        "{% set ns = namespace(s=[1]) %}{% for i in range(90) %}{% set ns.s = [ns.s, ns.s] %}{% endfor %}{{ "
        "ns.s|tojson }}",
        "{% set ns = namespace(s=[1]) %}{% for i in range(90) %}{% set ns.s = [ns.s, ns.s] %}{% endfor %}{{ "
        "ns.s == [ns.s] }}"
        "{% set q = [] %}{% for i in range(90) %}{% set x = q.append(ns.s) %}{% endfor %}",
        "{% set ns = namespace(s=[]) %}{% for i in range(50000) %}{% set ns.s = [ns.s] %}{% endfor %}{{ ns.s "
        "}}",
        "{% set a = [] %}{% set x = a.append(a) %}{{ a }}",
        "{% set ns = namespace() %}{% set ns.x = ns %}",
        "{% set ns = namespace() %}{% set ns.x = [{'a': (ns,)}] %}",
        "{{ ('a' * 100000) | replace('', 'b' * 100000) }}",
        "{{ ('a' * 100000) | replace('a', 'b' * 100000) }}",
        "{{ ('b' * 1000000).join(range(1000) | map('string') | list) }}",
        "{{ range(1000) | join('b' * 1000000) }}",
        "{{ ('\\n' * 1000000) | indent(1000000, blank=true) }}",
        "{{ 'x' | indent(9223372036854775807, true) }}",
        "{{ ('{}' * 100000).format(" + many("'" + many("x", 1000) + "',", 200) + ") }}",
        loop + loop + "{{ 'x' * 10000000 }}{% endfor %}{% endfor %}",
        loop + loop + "{{ s | trim | upper | replace('a', 'b') }}{% endfor %}{% endfor %}",
        loop + loop + "{{ [1, 2, 3] | tojson(indent=64) | length }}{% endfor %}{% endfor %}",
        "{{ -9223372036854775807 - 2 }}",
        "{{ (-9223372036854775807 - 1) // -1 }}",
        "{{ strftime_now('%c' * 100000) }}",
        "{{ [1] | slice(1000000000000) }}",
    };
    for (const std::string& source : cases) {
        const auto start = std::chrono::steady_clock::now();
        const std::string error = error_of(source);
        const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
        const std::string label = source.substr(0, 120);
        EXPECT_THAT(error, HasSubstr("The chat template")) << label;
        EXPECT_LT(error.size(), 400u) << label;
        EXPECT_LT(time.count(), kSecondsAllowed) << label;
    }
    // A deep nest that is never looked at is built and destroyed without harm.
    EXPECT_EQ(
        render(
            "{% set ns = namespace(s=[]) %}{% for i in range(150) %}{% set ns.s = [ns.s] %}{% endfor %}ok"),
        "ok");
}

TEST(Jinja, RandomTextNeverCrashes) {
    std::vector<std::string> bits = {
        "{{",  "}}",   "{%",     "%}",     "{#",   "#}",   "-",  "if ",  "endif",     "for ",     "x ",
        "in ", "l ",   "endfor", "set ",   "=",    "'a'",  "|",  "trim", "(",         ")",        "[",
        "]",   ":",    ".",      "items",  "1",    "+",    "\n", " ",    "macro m()", "endmacro", "not ",
        "is ", "none", "raw",    "endraw", "else", "\xC3", "*",  ",",    "~"};
    uint32_t state = 1;
    int rendered = 0;
    for (int round = 0; round < 20000; ++round) {
        std::string source;
        for (int i = 0; i < 12; ++i) {
            state = state * 1664525u + 1013904223u;
            source += bits[(state >> 16) % bits.size()];
        }
        rendered += error_of(source) == "(no error)";
    }
    EXPECT_GT(rendered, 100);
}

}  // namespace
}  // namespace powerinfer::generate
