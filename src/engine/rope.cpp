#include "engine/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace powerinfer::engine {
namespace {

/// Index of the dimension pair that turns `rotations` times over the original context (YaRN, section 3.2).
double yarn_dimension(const model::Rope& rope, double rotations) {
    return rope.n_dims * std::log(rope.n_ctx_original / (rotations * 2 * std::numbers::pi)) /
           (2 * std::log(static_cast<double>(rope.freq_base)));
}

}  // namespace

RopeTable::RopeTable(const model::Rope& rope) : layout_(rope.layout) {
    if (layout_ == model::RopeLayout::none) return;
    const int n_pairs = rope.n_dims / 2;
    const double low = std::max(0.0, std::floor(yarn_dimension(rope, rope.yarn_beta_fast)));
    const double high = std::min(rope.n_dims - 1.0, std::ceil(yarn_dimension(rope, rope.yarn_beta_slow)));
    for (int i = 0; i < n_pairs; ++i) {
        double f = std::pow(static_cast<double>(rope.freq_base), -2.0 * i / rope.n_dims);
        if (!rope.freq_factors.empty()) f /= static_cast<double>(rope.freq_factors[static_cast<size_t>(i)]);
        if (rope.scaling == model::RopeScaling::linear) f /= rope.factor;
        if (rope.scaling == model::RopeScaling::yarn) {
            // Fast pairs keep their frequency, slow ones are interpolated, a ramp lies between.
            const double ramp = std::clamp((i - low) / std::max(0.001, high - low), 0.0, 1.0);
            const double keep = (1 - ramp) * rope.yarn_ext_factor;
            f = f / rope.factor * (1 - keep) + f * keep;
        }
        frequency_.push_back(static_cast<float>(f));
    }
    if (rope.scaling == model::RopeScaling::yarn && rope.yarn_ext_factor != 0)
        magnitude_ = rope.yarn_attn_factor * (1.0f + 0.1f * std::log(rope.factor));
}

void RopeTable::angles(int position, float* cos, float* sin) const {
    delta_angles(position, cos, sin);
    if (magnitude_ == 1.0f) return;
    for (size_t i = 0; i < frequency_.size(); ++i) {
        cos[i] *= magnitude_;
        sin[i] *= magnitude_;
    }
}

void RopeTable::delta_angles(int delta, float* cos, float* sin) const {
    for (size_t i = 0; i < frequency_.size(); ++i) {
        const float angle = static_cast<float>(delta) * frequency_[i];
        cos[i] = std::cos(angle);
        sin[i] = std::sin(angle);
    }
}

void RopeTable::rotate(float* head, const float* cos, const float* sin) const {
    const auto n = static_cast<int64_t>(frequency_.size());
    const bool adjacent = layout_ == model::RopeLayout::adjacent_pairs;
    for (int64_t i = 0; i < n; ++i) {
        float& a = head[adjacent ? 2 * i : i];
        float& b = head[adjacent ? 2 * i + 1 : i + n];
        const float rotated = a * cos[i] - b * sin[i];
        b = a * sin[i] + b * cos[i];
        a = rotated;
    }
}

}  // namespace powerinfer::engine
