// Norms, sums, activation functions and activation encoders on whole vectors.
// For files compiled for one instruction set only, hence the anonymous namespace.
#pragma once

#include "kernels/cpu/wide_math.h"
#include "kernels/ops.h"

namespace powerinfer::kernels {
namespace {

template <class W>
void rms_norm(const float* x, const float* weight, float* y, int64_t n, float eps) {
    auto squares = W::zero();
    int64_t i = 0;
    for (; i + 16 <= n; i += 16) squares = W::fma(W::load(x + i), W::load(x + i), squares);
    const int left = static_cast<int>(n - i);
    if (left > 0) squares = W::fma(W::load(x + i, left), W::load(x + i, left), squares);
    const float mean = W::sum(squares) / static_cast<float>(n);
    const auto scale = W::set(1.0f / W::square_root(mean + eps));
    for (i = 0; i + 16 <= n; i += 16)
        W::store(y + i, W::mul(W::mul(W::load(x + i), scale), W::load(weight + i)));
    if (left > 0)
        W::store(y + i, W::mul(W::mul(W::load(x + i, left), scale), W::load(weight + i, left)), left);
}

template <class W>
void add_to(const float* x, float* y, int64_t n) {
    int64_t i = 0;
    for (; i + 16 <= n; i += 16) W::store(y + i, W::add(W::load(y + i), W::load(x + i)));
    for (; i < n; ++i) y[i] += x[i];
}

template <class W, GateActivation act>
inline typename W::F activate(typename W::F x) {
    if constexpr (act == GateActivation::silu) return times_sigmoid<W>(x, x);
    if constexpr (act == GateActivation::relu || act == GateActivation::drelu) return W::max(W::zero(), x);
    if constexpr (act == GateActivation::relu_squared) {
        const auto positive = W::max(W::zero(), x);
        return W::mul(positive, positive);
    }
    if constexpr (act == GateActivation::gelu) {
        // 0.5 x (1 + tanh(u)) = x / (1 + exp(-2u)), which does not cancel for negative x.
        const auto cubic = W::fma(W::mul(W::set(0.044715f), x), x, W::set(1));
        return times_sigmoid<W>(x, W::mul(W::mul(W::set(2 * 0.79788456f), x), cubic));
    }
    if constexpr (act == GateActivation::gelu_quick) return times_sigmoid<W>(x, W::mul(W::set(1.702f), x));
}

template <class W, GateActivation act>
void gate_with(const float* gate, const float* up, float* h, int64_t n) {
    for (int64_t i = 0; i < n; i += 16) {
        const int count = n - i < 16 ? static_cast<int>(n - i) : 16;
        auto z = activate<W, act>(W::load(gate + i, count));
        if (up) {
            auto u = W::load(up + i, count);
            if constexpr (act == GateActivation::drelu) u = W::max(W::zero(), u);
            z = W::mul(z, u);
        }
        W::store(h + i, z, count);
    }
}

template <class W>
void gate(GateActivation act, const float* g, const float* up, float* h, int64_t n) {
    switch (act) {
        case GateActivation::silu:
            return gate_with<W, GateActivation::silu>(g, up, h, n);
        case GateActivation::relu:
            return gate_with<W, GateActivation::relu>(g, up, h, n);
        case GateActivation::relu_squared:
            return gate_with<W, GateActivation::relu_squared>(g, up, h, n);
        case GateActivation::gelu:
            return gate_with<W, GateActivation::gelu>(g, up, h, n);
        case GateActivation::gelu_quick:
            return gate_with<W, GateActivation::gelu_quick>(g, up, h, n);
        case GateActivation::drelu:
            return gate_with<W, GateActivation::drelu>(g, up, h, n);
    }
}

template <class W>
void to_f16(const float* x, uint16_t* y, int64_t n) {
    int64_t i = 0;
    for (; i + 16 <= n; i += 16) W::store_f16(y + i, W::load(x + i));
    for (; i < n; ++i) y[i] = W::to_f16(x[i]);
}

/// One block of the q8 encodings (quant/activation_q8.h); returns its scale. The sixteens are summed into
/// sums[].
template <class W, int kBlock>
inline float encode_q8_block(const float* x, int8_t* q, int* sums) {
    auto largest = W::zero(), nothing = W::zero();
    for (int i = 0; i < kBlock; i += 16) {
        const auto v = W::load(x + i);
        largest = W::max(largest, W::abs(v));
        nothing = W::fma(v, W::zero(), nothing);  // NaN as soon as one value is infinite or NaN
    }
    const float amax = W::largest(largest);
    const bool finite = W::sum(nothing) == 0;
    if (!finite || amax < quant::kSmallestQ8Max) {
        __builtin_memset(q, 0, kBlock);
        for (int i = 0; i < kBlock / 16; ++i) sums[i] = 0;
        return finite ? 0 : __builtin_nanf("");
    }
    const auto inverse = W::set(127.0f / amax);
    for (int i = 0; i < kBlock; i += 16) sums[i / 16] = W::store_int8(q + i, W::mul(W::load(x + i), inverse));
    return amax / 127.0f;
}

template <class W>
void encode(quant::ActivationEncoding encoding, const float* x, void* dst, int64_t n) {
    if (encoding == quant::ActivationEncoding::f32) {
        __builtin_memcpy(dst, x, static_cast<size_t>(n) * sizeof(float));
        return;
    }
    const quant::Q8Parts parts = quant::q8_parts(encoding, n);
    auto* bytes = static_cast<uint8_t*>(dst);
    auto* q = reinterpret_cast<int8_t*>(bytes);
    auto* d = reinterpret_cast<float*>(bytes + parts.d);
    int sums[16];
    if (encoding == quant::ActivationEncoding::q8_32) {
        for (int64_t b = 0; b < n / 32; ++b) {
            d[b] = encode_q8_block<W, 32>(x + 32 * b, q + 32 * b, sums);
            reinterpret_cast<int32_t*>(bytes + parts.sum)[b] = sums[0] + sums[1];
        }
    } else {
        for (int64_t b = 0; b < n / 256; ++b) {
            d[b] = encode_q8_block<W, 256>(x + 256 * b, q + 256 * b, sums);
            auto* to = reinterpret_cast<int16_t*>(bytes + parts.sum) + 16 * b;
            for (int k = 0; k < 16; ++k) to[k] = static_cast<int16_t>(sums[k]);
        }
    }
}

template <class W>
void add_vector_ops(Ops& ops) {
    ops.encode = encode<W>;
    ops.rms_norm = rms_norm<W>;
    ops.add = add_to<W>;
    ops.gate = gate<W>;
    ops.f32_to_f16 = to_f16<W>;
}

}  // namespace
}  // namespace powerinfer::kernels
