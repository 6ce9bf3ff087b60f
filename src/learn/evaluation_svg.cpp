// The page of charts of an evaluation: plain SVG, no scripts and no fonts of its own.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "learn/evaluation_report.h"

namespace powerinfer::learn {
namespace {

constexpr int kWidth = 1120, kHeight = 920;
constexpr const char* kInk = "#222222";
constexpr const char* kGrid = "#dddddd";
constexpr const char* kBar = "#4878a8";
constexpr const char* kSecond = "#d1743a";

/// From blue through green to orange along the depth of the model.
std::string layer_colour(size_t layer, size_t n_layer) {
    const double at = n_layer < 2 ? 0 : static_cast<double>(layer) / static_cast<double>(n_layer - 1);
    return fmt::format("hsl({:.0f},65%,{:.0f}%)", 230 - 200 * at, 45 - 5 * at);
}

std::string text(double x, double y, std::string_view words, std::string_view anchor = "start",
                 int size = 13) {
    std::string safe;
    for (const char c : words) {
        if (c == '<')
            safe += "&lt;";
        else if (c == '&')
            safe += "&amp;";
        else
            safe += c;
    }
    return fmt::format(
        "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" font-size=\"{}\" fill=\"{}\">{}</text>\n", x, y,
        anchor, size, kInk, safe);
}

std::string line(double x0, double y0, double x1, double y1, const char* colour) {
    return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\"/>\n", x0,
                       y0, x1, y1, colour);
}

/// A rectangle on the page with its title; what lies in it is drawn in its own coordinates.
struct Panel {
    double left, top, width, height;
    double bottom() const { return top + height; }
    double right() const { return left + width; }
    std::string frame(std::string_view title) const { return text(left, top - 14, title, "start", 15); }
    /// A horizontal line with its value at the left.
    std::string level(double share_of_height, const std::string& label) const {
        const double y = bottom() - share_of_height * height;
        return line(left, y, right(), y, kGrid) + text(left - 6, y + 4, label, "end", 12);
    }
};

std::string firing_curves(const Evaluation& e, const Panel& p) {
    std::string out = p.frame("How often neurons fire, most frequent first (both axes logarithmic)");
    const double decades_x = std::log10(std::max(e.profile.n_ff, 2)),
                 decades_y = std::ceil(
                     std::log10(std::max<double>(static_cast<double>(e.profile.tokens_or_bound()), 10)));
    for (int d = 0; d <= decades_y; ++d)
        out += p.level(1 - d / decades_y, fmt::format("{:g}", std::pow(10.0, -d)));
    for (int d = 0; d <= decades_x; ++d) {
        const double x = p.left + d / decades_x * p.width;
        out += line(x, p.top, x, p.bottom(), kGrid) +
               text(x, p.bottom() + 18, fmt::format("{:g}", std::pow(10.0, d)), "middle", 12);
    }
    out += text(p.left + p.width / 2, p.bottom() + 36, "rank of the neuron in its layer", "middle", 12);
    const size_t n_layer = e.layers.size();
    for (size_t layer = 0; layer < n_layer; ++layer) {
        std::vector<uint64_t> fires = e.profile.layers[layer].fires;
        std::sort(fires.begin(), fires.end(), std::greater<>());
        std::string points;
        double last = -1;
        for (size_t rank = 0; rank < fires.size() && fires[rank] > 0; ++rank) {
            const double x = std::log10(static_cast<double>(rank + 1)) / decades_x;
            if (x - last < 0.002) continue;  // closer than a pixel
            last = x;
            const double y = 1 + std::log10(static_cast<double>(fires[rank]) /
                                            static_cast<double>(e.profile.tokens_or_bound())) /
                                     decades_y;
            points += fmt::format("{:.1f},{:.1f} ", p.left + x * p.width, p.bottom() - y * p.height);
        }
        out += fmt::format("<polyline fill=\"none\" stroke-width=\"1.6\" stroke=\"{}\" points=\"{}\"/>\n",
                           layer_colour(layer, n_layer), points);
    }
    // A legend of at most eight layers, evenly chosen.
    const size_t n_rows = std::min<size_t>(n_layer, 8);
    for (size_t k = 0; k < n_rows; ++k) {
        const size_t layer = n_rows < 2 ? 0 : k * (n_layer - 1) / (n_rows - 1);
        const double y = p.bottom() - 14 - 18 * static_cast<double>(n_rows - 1 - k);
        out += fmt::format(
            "<line x1=\"{0:.1f}\" y1=\"{1:.1f}\" x2=\"{2:.1f}\" y2=\"{1:.1f}\" stroke-width=\"3\" "
            "stroke=\"{3}\"/>\n",
            p.left + 12, y, p.left + 36, layer_colour(layer, n_layer));
        out += text(p.left + 42, y + 4, fmt::format("layer {}", layer), "start", 12);
    }
    return out;
}

/// The places of the layers along a panel; numbers under as many as there is room for.
std::string layer_axis(const Panel& p, size_t n_layer) {
    std::string out = text(p.left + p.width / 2, p.bottom() + 36, "layer", "middle", 12);
    const size_t step = n_layer / 16 + 1;
    for (size_t i = 0; i < n_layer; i += step)
        out += text(p.left + (static_cast<double>(i) + 0.5) / static_cast<double>(n_layer) * p.width,
                    p.bottom() + 18, std::to_string(i), "middle", 12);
    return out;
}

std::string coverage_bars(const Evaluation& e, const Panel& p) {
    std::string out = p.frame("Share of neurons that makes 80 % of the activations");
    for (int percent = 0; percent <= 80; percent += 20)
        out += p.level(percent / 80.0, fmt::format("{} %", percent));
    const double step = p.width / static_cast<double>(e.layers.size());
    for (size_t i = 0; i < e.layers.size(); ++i) {
        const double share = e.profile.share_covering(static_cast<int>(i), 0.8) / 0.8;  // never above 0.8
        out +=
            fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\"/>\n",
                        p.left + step * (static_cast<double>(i) + 0.15), p.bottom() - share * p.height,
                        0.7 * step, share * p.height, kBar);
    }
    return out + layer_axis(p, e.layers.size());
}

std::string recall_lines(const Evaluation& e, const Panel& p) {
    double least = 1;
    for (const SelectionCounts& c : e.layers) least = std::min({least, c.recall(), c.contribution_recall()});
    // From a round number below the lowest point, so that 97 % and 99 % can be told apart.
    const double floor = least > 0.991 ? 0.99 : least > 0.91 ? 0.9 : least > 0.51 ? 0.5 : 0;
    const auto height = [&](double share) { return (share - floor) / (1 - floor); };
    std::string out = p.frame("Recall per layer");
    for (int k = 0; k <= 5; ++k)
        out += p.level(k / 5.0, fmt::format("{:g} %", 100 * (floor + k * (1 - floor) / 5)));
    const struct {
        double (SelectionCounts::*figure)() const;
        const char* name;
        const char* colour;
    } curves[] = {{&SelectionCounts::contribution_recall, "weighted by contribution", kSecond},
                  {&SelectionCounts::recall, "of neurons", kBar}};
    double legend = p.top + 14;
    for (const auto& curve : curves) {
        std::string points;
        for (size_t i = 0; i < e.layers.size(); ++i) {
            const double x =
                p.left + (static_cast<double>(i) + 0.5) / static_cast<double>(e.layers.size()) * p.width;
            const double y = p.bottom() - height((e.layers[i].*curve.figure)()) * p.height;
            points += fmt::format("{:.1f},{:.1f} ", x, y);
            out += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\" fill=\"{}\"/>\n", x, y,
                               curve.colour);
        }
        out += fmt::format("<polyline fill=\"none\" stroke-width=\"1.6\" stroke=\"{}\" points=\"{}\"/>\n",
                           curve.colour, points);
        out += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\" fill=\"{}\"/>\n", p.right() + 14,
                           legend, curve.colour);
        out += text(p.right() + 22, legend + 4, curve.name, "start", 12);
        legend += 18;
    }
    return out + layer_axis(p, e.layers.size());
}

}  // namespace

std::string svg_of(const Evaluation& e) {
    const SelectionCounts all = e.total();
    std::string out = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" "
        "font-family=\"sans-serif\">\n<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n",
        kWidth, kHeight);
    out += text(40, 38, fmt::format("{} against off: {} tokens", sparsity::name(e.mode), e.n_tokens), "start",
                20);
    out += text(40, 62,
                fmt::format("perplexity {:.3f}, off {:.3f} ({:+.2f} %); computed {:.1f} % of the neurons, "
                            "{:.1f} % fire; recall {:.2f} %, "
                            "weighted by contribution {:.2f} %",
                            e.perplexity, e.perplexity_off, 100 * (e.perplexity / e.perplexity_off - 1),
                            100 * all.active_share(), 100 * all.true_active_share(), 100 * all.recall(),
                            100 * all.contribution_recall()));
    out += firing_curves(e, {.left = 90, .top = 120, .width = 980, .height = 360});
    out += coverage_bars(e, {.left = 90, .top = 590, .width = 400, .height = 260});
    out += recall_lines(e, {.left = 590, .top = 590, .width = 320, .height = 260});
    return out + "</svg>\n";
}

}  // namespace powerinfer::learn
