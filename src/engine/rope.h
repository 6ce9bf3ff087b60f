// Rotary position embedding: angles per position, and the rotation of heads.
// Sources: RoFormer (arXiv 2104.09864); YaRN (arXiv 2309.00071); the Llama 3.1 model description for frequency factors.
#pragma once

#include <cstdint>
#include <vector>

#include "model/spec.h"

namespace powerinfer::engine {

class RopeTable {
  public:
    explicit RopeTable(const model::Rope& rope);

    int64_t n_pairs() const { return static_cast<int64_t>(frequency_.size()); }

    /// cos and sin of all pairs at a position, [n_pairs] each, scaled by YaRN's magnitude factor.
    void angles(int position, float* cos, float* sin) const;
    /// The same for moving an already rotated vector by `delta` positions: no magnitude factor.
    void delta_angles(int delta, float* cos, float* sin) const;

    /// Rotates one head of head_dim floats in place; dimensions past 2 * n_pairs stay as they are.
    void rotate(float* head, const float* cos, const float* sin) const;

  private:
    model::RopeLayout layout_;
    std::vector<float> frequency_;  // radians per position of each pair
    float magnitude_ = 1.0f;
};

}  // namespace powerinfer::engine
