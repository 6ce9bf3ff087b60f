#include "tools/placement_sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"
#include "tools/numbers.h"

namespace powerinfer::tools {
namespace {

constexpr int kPoints = 32;
constexpr std::array kRules = {plan::Rule::hottest_neurons, plan::Rule::whole_layers, plan::Rule::attention_first,
                               plan::Rule::powerinfer_order};
constexpr std::array kColours = {"#c0392b", "#2471a3", "#7d8a8a", "#1e8449", "#9a7d0a"};
constexpr std::array kDashes = {"none", "none", "2 3", "6 4", "10 3 2 3"};
constexpr double kWidth = 460, kHeight = 300, kLeft = 64, kTop = 84, kGap = 76, kBottom = 48;

/// 1, 2 or 5 times a power of ten, so that about five fit.
double tick(double most) {
    const double rough = std::max(most, 1e-9) / 5, power = std::pow(10, std::floor(std::log10(rough)));
    for (const double step : {1.0, 2.0, 5.0})
        if (rough <= step * power) return step * power;
    return 10 * power;
}

std::string text_at(double x, double y, const char* anchor, int size, const std::string& text) {
    return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" font-size=\"{}\">{}</text>\n", x, y, anchor, size, text);
}

/// One chart: axes from 0 and a curve per rule.
std::string panel(const Sweep& s, double left, const std::string& title, double most_y, const char* unit,
                  const std::vector<double> SweepPoint::*values, double scale) {
    const bool gib = s.points.back().room >= uint64_t{4} << 30;
    const double unit_bytes = gib ? 1024.0 * 1024 * 1024 : 1024.0 * 1024;
    const double most_x = static_cast<double>(s.points.back().room) / unit_bytes;
    const auto x_of = [&](double v) { return left + kWidth * v / most_x; };
    const auto y_of = [&](double v) { return kTop + kHeight * (1 - v / most_y); };
    std::string svg = text_at(left, kTop - 12, "start", 14, title);
    for (double v = 0; v <= most_x * 1.0001; v += tick(most_x)) {
        svg += fmt::format("<path d=\"M{0:.1f} {1:.1f}v{2:.1f}\" stroke=\"#e5e8e8\"/>\n", x_of(v), kTop, kHeight);
        svg += text_at(x_of(v), kTop + kHeight + 18, "middle", 12, fmt::format("{:g}", v));
    }
    for (double v = 0; v <= most_y * 1.0001; v += tick(most_y)) {
        svg += fmt::format("<path d=\"M{:.1f} {:.1f}h{:.1f}\" stroke=\"#e5e8e8\"/>\n", left, y_of(v), kWidth);
        svg += text_at(left - 8, y_of(v) + 4, "end", 12, fmt::format("{:g}{}", v, unit));
    }
    svg += text_at(left + kWidth / 2, kTop + kHeight + 38, "middle", 12,
                   fmt::format("device memory for weights and cache, {}", gib ? "GiB" : "MiB"));
    for (size_t c = s.curves.size(); c-- > 0;) {
        std::string path;
        for (const SweepPoint& p : s.points)
            path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", x_of(static_cast<double>(p.room) / unit_bytes),
                                y_of(scale * (p.*values)[c]));
        svg += fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\" stroke-dasharray=\"{}\"/>\n", path,
                           kColours[c], c == 0 ? 2.5 : 1.8, kDashes[c]);
    }
    return svg;
}

}  // namespace

Sweep sweep(const plan::Workload& w, plan::Machine machine, const plan::Allowance& allowance) {
    if (machine.devices.empty())
        fail(ErrorKind::bad_argument, "the machine '{}' has no device, there is nothing to vary", machine.name);
    plan::Device& device = machine.devices.front();
    const uint64_t fixed = device.reserved + w.scratch_bytes;
    uint64_t everything = w.total_bytes();
    everything += everything / 50;  // padding, and matrices that both sides hold
    device.memory = fixed + everything;
    Sweep s;
    s.title = w.model;
    s.subtitle = fmt::format("{} and {}", machine.processor, device.name);
    machine.devices.resize(1);
    s.curves = {"this plan"};
    for (const plan::Rule rule : kRules) s.curves.emplace_back(plan::title(rule));
    for (int i = 0; i <= kPoints; ++i) {
        SweepPoint point;
        point.room = everything / kPoints * static_cast<uint64_t>(i);
        plan::Allowance a = allowance;
        a.vram = {fixed + point.room};
        const auto add = [&](const plan::Expected& e) {
            point.served.push_back(e.served);
            point.tokens_per_s.push_back(e.tokens_per_s());
        };
        add(plan::place(w, machine, a).expected);
        for (const plan::Rule rule : kRules) add(plan::expect(w, machine, a, plan::place_by(rule, w, machine, a)));
        s.points.push_back(std::move(point));
    }
    return s;
}

std::string table_of(const Sweep& s) {
    std::string text = fmt::format("{}; {}\nserved share and tokens/s of: ", s.title, s.subtitle);
    for (size_t c = 0; c < s.curves.size(); ++c) text += (c ? ", " : "") + s.curves[c];
    text += "\n";
    for (const SweepPoint& p : s.points) {
        text += fmt::format("{:>11}", size_text(p.room));
        for (size_t c = 0; c < s.curves.size(); ++c) text += fmt::format("  {:6.2f} % {:9.2f}", 100 * p.served[c], p.tokens_per_s[c]);
        text += "\n";
    }
    return text;
}

std::string svg_of(const Sweep& s) {
    const double width = 2 * kWidth + 2 * kLeft + kGap - 20, height = kTop + kHeight + kBottom + 44;
    double most = 0;
    for (const SweepPoint& p : s.points)
        for (const double v : p.tokens_per_s) most = std::max(most, v);
    std::string svg = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" font-family=\"sans-serif\" fill=\"#1b2631\">\n"
        "<rect width=\"{0:.0f}\" height=\"{1:.0f}\" fill=\"#ffffff\"/>\n", width, height);
    svg += text_at(kLeft, 28, "start", 16, s.title) + text_at(kLeft, 48, "start", 12, s.subtitle);
    svg += panel(s, kLeft, "activations that the device computes", 100, " %", &SweepPoint::served, 100);
    svg += panel(s, kLeft + kWidth + kGap, "expected tokens per second", most, "", &SweepPoint::tokens_per_s, 1);
    double x = kLeft;
    for (size_t c = 0; c < s.curves.size(); ++c) {
        svg += fmt::format("<path d=\"M{:.1f} {:.1f}h26\" stroke=\"{}\" stroke-width=\"{}\" stroke-dasharray=\"{}\"/>\n", x, height - 18,
                           kColours[c], c == 0 ? 2.5 : 1.8, kDashes[c]);
        svg += text_at(x + 32, height - 14, "start", 12, s.curves[c]);
        x += 60 + 6.6 * static_cast<double>(s.curves[c].size());
    }
    return svg + "</svg>\n";
}

}  // namespace powerinfer::tools
