// Attention over cached positions the obvious way, with the running softmax that ops.h describes.
#include <cmath>
#include <cstring>

#include "base/half.h"
#include "kernels/cpu/kernel_sets.h"

namespace powerinfer::kernels::scalar {
namespace {

/// One side of the cache.
struct Side {
    const uint8_t* rows;
    size_t stride;
    const uint16_t* scales;
    size_t scale_stride;
};

template <DType type>
float element(const Side& side, int64_t position, int i) {
    const uint8_t* row = side.rows + static_cast<size_t>(position) * side.stride;
    if constexpr (type == DType::Q8_0) {
        const uint16_t scale = side.scales[static_cast<size_t>(i / 32) * side.scale_stride + static_cast<size_t>(position)];
        return f16_to_f32(scale) * static_cast<float>(static_cast<int8_t>(row[i]));
    } else if constexpr (type == DType::F32) {
        float value;
        std::memcpy(&value, row + static_cast<size_t>(i) * 4, 4);
        return value;
    } else {
        uint16_t value;
        std::memcpy(&value, row + static_cast<size_t>(i) * 2, 2);
        return type == DType::F16 ? f16_to_f32(value) : bf16_to_f32(value);
    }
}

template <DType type>
float query(const AttentionArgs& a, int g, int i) {
    const uint8_t* q = a.q + static_cast<size_t>(g) * a.q_stride;
    if constexpr (type == DType::Q8_0) {
        const auto parts = quant::q8_parts(quant::ActivationEncoding::q8_32, a.head_dim_k);
        return reinterpret_cast<const float*>(q + parts.d)[i / 32] * static_cast<float>(static_cast<int8_t>(q[i]));
    } else {
        return reinterpret_cast<const float*>(q)[i];
    }
}

/// One block of at most kAttentionBlock positions for query head g.
template <DType type>
void one_block(const AttentionArgs& a, int g, int64_t first, int64_t count) {
    const Side keys{a.k, a.k_stride, a.k_scales, a.scale_stride}, values{a.v, a.v_stride, a.v_scales, a.scale_stride};
    float* acc = a.acc + g * a.head_dim_v;
    float weight[kAttentionBlock];
    float max = a.max[g];
    for (int64_t p = 0; p < count; ++p) {
        double score = 0;
        for (int i = 0; i < a.head_dim_k; ++i)
            score += static_cast<double>(query<type>(a, g, i)) * static_cast<double>(element<type>(keys, first + p, i));
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
        for (int64_t p = 0; p < count; ++p)
            value += static_cast<double>(weight[p]) * static_cast<double>(element<type>(values, first + p, i));
        acc[i] = static_cast<float>(value);
    }
}

template <DType type>
void attention(const AttentionArgs& a) {
    for (int64_t first = 0; first < a.n_positions; first += kAttentionBlock) {
        const int64_t left = a.n_positions - first;
        for (int g = 0; g < a.n_group; ++g)
            one_block<type>(a, g, first, left < kAttentionBlock ? left : kAttentionBlock);
    }
}

}  // namespace

void add_attention(Ops& ops) {
    ops.attention[static_cast<size_t>(DType::F32)] = attention<DType::F32>;
    ops.attention[static_cast<size_t>(DType::F16)] = attention<DType::F16>;
    ops.attention[static_cast<size_t>(DType::BF16)] = attention<DType::BF16>;
    ops.attention[static_cast<size_t>(DType::Q8_0)] = attention<DType::Q8_0>;
}

}  // namespace powerinfer::kernels::scalar
