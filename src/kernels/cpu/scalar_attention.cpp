// Attention over cached positions the obvious way, with the running softmax that ops.h describes.
#include <cmath>
#include <cstring>

#include "base/half.h"
#include "kernels/cpu/kernel_sets.h"

namespace powerinfer::kernels::scalar {
namespace {

template <class T>
float element(const uint8_t* row, int i) {
    T value;
    std::memcpy(&value, row + static_cast<size_t>(i) * sizeof(T), sizeof(T));
    if constexpr (sizeof(T) == 2) {
        return f16_to_f32(value);
    } else {
        return value;
    }
}

/// One block of at most kAttentionBlock positions for query head g.
template <class T>
void one_block(const AttentionArgs& a, int g, int64_t first, int64_t count) {
    const float* q = a.q + g * a.head_dim_k;
    float* acc = a.acc + g * a.head_dim_v;
    float weight[kAttentionBlock];
    float max = a.max[g];
    for (int64_t p = 0; p < count; ++p) {
        const uint8_t* key = a.k + static_cast<size_t>(first + p) * a.k_stride;
        double score = 0;
        for (int i = 0; i < a.head_dim_k; ++i)
            score += static_cast<double>(q[i]) * static_cast<double>(element<T>(key, i));
        weight[p] = static_cast<float>(score);
        if (a.softcap != 0) weight[p] = a.softcap * std::tanh(weight[p] / a.softcap);
        if (!(weight[p] <= max)) max = weight[p];  // so that NaN spreads
    }
    const float shrink = std::exp(a.max[g] - max);
    double sum = static_cast<double>(a.sum[g]) * static_cast<double>(shrink);
    for (int64_t p = 0; p < count; ++p) {
        weight[p] = std::exp(weight[p] - max);
        sum += static_cast<double>(weight[p]);
    }
    a.max[g] = max;
    a.sum[g] = static_cast<float>(sum);
    for (int i = 0; i < a.head_dim_v; ++i) {
        double value = static_cast<double>(acc[i]) * static_cast<double>(shrink);
        for (int64_t p = 0; p < count; ++p) {
            const uint8_t* row = a.v + static_cast<size_t>(first + p) * a.v_stride;
            value += static_cast<double>(weight[p]) * static_cast<double>(element<T>(row, i));
        }
        acc[i] = static_cast<float>(value);
    }
}

template <class T>
void attention(const AttentionArgs& a) {
    for (int64_t first = 0; first < a.n_positions; first += kAttentionBlock) {
        const int64_t left = a.n_positions - first;
        for (int g = 0; g < a.n_group; ++g)
            one_block<T>(a, g, first, left < kAttentionBlock ? left : kAttentionBlock);
    }
}

}  // namespace

void add_attention(Ops& ops) {
    ops.attention_f16 = attention<uint16_t>;
    ops.attention_f32 = attention<float>;
}

}  // namespace powerinfer::kernels::scalar
