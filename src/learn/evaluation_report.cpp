#include "learn/evaluation_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace powerinfer::learn {

std::string table_of(const Evaluation& e) {
    std::string out = fmt::format("{} against off, {} tokens in windows of {}, {} scored\n\n",
                                  sparsity::name(e.mode), e.n_tokens, e.n_ctx, e.n_scored);
    out += "layer   computed    fire   recall   precision   recall by contribution   neurons for 80 %\n";
    const auto row = [&](const std::string& name, const SelectionCounts& c, double covering) {
        out += fmt::format("{:>5}  {:7.2f} %{:6.2f} %{:7.2f} %{:10.2f} %{:22.3f} %{:17.1f} %\n", name,
                           100 * c.active_share(), 100 * c.true_active_share(), 100 * c.recall(),
                           100 * c.precision(), 100 * c.contribution_recall(), 100 * covering);
    };
    double covering = 0;
    for (size_t i = 0; i < e.layers.size(); ++i) {
        const double share = e.profile.share_covering(static_cast<int>(i), 0.8);
        covering += share / static_cast<double>(e.layers.size());
        row(std::to_string(i), e.layers[i], share);
    }
    row("all", e.total(), covering);
    out += fmt::format("\nperplexity {:.4f}, off {:.4f} ({:+.3f} %)\n", e.perplexity, e.perplexity_off,
                       100 * (e.perplexity / e.perplexity_off - 1));
    out += fmt::format("KL divergence {:.6f} +/- {:.6f}, same best token {:.2f} %\n", e.kl, e.kl_error,
                       100 * e.same_top);
    out += fmt::format("prompt {:.1f} tokens/s, off {:.1f}; decode {:.1f} tokens/s, off {:.1f}\n",
                       e.prompt_speed, e.prompt_speed_off, e.decode_speed, e.decode_speed_off);
    return out;
}

std::string json_of(const Evaluation& e) {
    using nlohmann::ordered_json;
    const auto figures = [](const SelectionCounts& c) {
        return ordered_json{{"active_share", c.active_share()},
                            {"true_active_share", c.true_active_share()},
                            {"recall", c.recall()},
                            {"precision", c.precision()},
                            {"contribution_recall", c.contribution_recall()}};
    };
    ordered_json out = {{"mode", sparsity::name(e.mode)},
                        {"text", e.source},
                        {"tokens", e.n_tokens},
                        {"tokens_scored", e.n_scored},
                        {"n_ctx", e.n_ctx},
                        {"perplexity", e.perplexity},
                        {"perplexity_off", e.perplexity_off},
                        {"kl", e.kl},
                        {"kl_error", e.kl_error},
                        {"same_top", e.same_top},
                        {"prompt_tokens_per_second", e.prompt_speed},
                        {"prompt_tokens_per_second_off", e.prompt_speed_off},
                        {"decode_tokens_per_second", e.decode_speed},
                        {"decode_tokens_per_second_off", e.decode_speed_off}};
    out.update(figures(e.total()));
    out["layers"] = ordered_json::array();
    for (size_t i = 0; i < e.layers.size(); ++i) {
        ordered_json layer = {{"layer", i}};
        layer.update(figures(e.layers[i]));
        layer["share_covering_80_percent"] = e.profile.share_covering(static_cast<int>(i), 0.8);
        out["layers"].push_back(layer);
    }
    // Names of files may hold any bytes; those that are no UTF-8 are replaced.
    return out.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace powerinfer::learn
