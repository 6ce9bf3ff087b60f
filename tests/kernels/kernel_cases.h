// Random rows, activations and lists for the kernel tests.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "base/half.h"
#include "kernels/ops.h"
#include "quant/format.h"

namespace powerinfer::kernels {

inline constexpr DType kWeightTypes[] = {
    DType::F32,  DType::F16,    DType::BF16,   DType::Q4_0,  DType::Q4_1,  DType::Q5_0,
    DType::Q5_1, DType::Q8_0,   DType::Q2_K,   DType::Q3_K,  DType::Q4_K,  DType::Q5_K,
    DType::Q6_K, DType::IQ4_NL, DType::IQ4_XS, DType::MXFP4, DType::TQ1_0, DType::TQ2_0};

inline size_t id(DType type) {
    return static_cast<size_t>(type);
}

/// Where a block keeps its f16 scale and minimum.
inline std::vector<size_t> half_offsets(DType type) {
    switch (type) {
        case DType::Q4_1:
        case DType::Q5_1:
        case DType::Q4_K:
        case DType::Q5_K:
            return {0, 2};
        case DType::Q2_K:
            return {80, 82};
        case DType::Q3_K:
            return {108};
        case DType::Q6_K:
            return {208};
        case DType::TQ1_0:
            return {52};
        case DType::TQ2_0:
            return {64};
        case DType::MXFP4:
            return {};
        default:
            return {0};
    }
}

struct Random {
    std::mt19937 engine;
    explicit Random(unsigned seed) : engine(seed) {}
    float normal() { return std::normal_distribution<float>()(engine); }
    int below(int n) { return std::uniform_int_distribution<int>(0, n - 1)(engine); }

    std::vector<float> floats(int64_t n) {
        std::vector<float> x(static_cast<size_t>(n));
        for (float& v : x) v = normal();
        return x;
    }
    /// Rows of any bits, except for scales of a sensible size. Exactly as long as needed, so that a checker
    /// of memory accesses sees any read past the end.
    std::vector<uint8_t> rows(DType type, int64_t n_rows, int64_t n) {
        std::vector<uint8_t> bytes(static_cast<size_t>(n_rows) * row_bytes(type, n));
        if (info(type).block == 1) {
            quant::format(type).encode(floats(n_rows * n).data(), bytes.data(), n_rows * n, nullptr);
            return bytes;
        }
        for (uint8_t& b : bytes) b = static_cast<uint8_t>(engine());
        const auto block = static_cast<size_t>(info(type).bytes);
        for (size_t at = 0; at < bytes.size(); at += block) {
            for (const size_t offset : half_offsets(type)) {
                const uint16_t h = f32_to_f16(0.02f * normal());
                std::memcpy(&bytes[at + offset], &h, sizeof h);
            }
            if (type == DType::MXFP4) bytes[at] = static_cast<uint8_t>(118 + below(12));
        }
        return bytes;
    }
    std::vector<int32_t> list(int count, int n) {
        std::vector<int32_t> ids(static_cast<size_t>(count));
        for (int32_t& i : ids) i = below(n);
        return ids;
    }
};

/// A random matrix of one type and encoded activations that meet it.
struct DotCase {
    DType type;
    int64_t n_rows, n_tokens, n;
    std::vector<uint8_t> weights, acts;
    size_t act_stride;

    DotCase(Random& random, DType t, int64_t rows, int64_t tokens, int64_t elements)
        : type(t), n_rows(rows), n_tokens(tokens), n(elements), weights(random.rows(t, rows, elements)) {
        const auto encoding = quant::format(type).activation;
        act_stride = quant::activation_bytes(encoding, n);
        acts.resize(static_cast<size_t>(n_tokens) * act_stride);
        for (int64_t i = 0; i < n_tokens; ++i)
            quant::encode_activation(encoding, random.floats(n).data(),
                                     acts.data() + static_cast<size_t>(i) * act_stride, n);
    }
    size_t row_stride() const { return row_bytes(type, n); }
    DotArgs args(float* out, int64_t out_stride) const {
        DotArgs a{};
        a.weights = weights.data();
        a.row_stride = row_stride();
        a.n_rows = n_rows;
        a.n = n;
        a.acts = acts.data();
        a.act_stride = act_stride;
        a.n_tokens = n_tokens;
        a.out = out;
        a.out_stride = out_stride;
        return a;
    }
    std::vector<float> row(int64_t r) const {
        std::vector<float> w(static_cast<size_t>(n));
        quant::format(type).decode(weights.data() + static_cast<size_t>(r) * row_stride(), w.data(), n);
        return w;
    }
    std::vector<float> act(int64_t t) const {
        std::vector<float> x(static_cast<size_t>(n));
        quant::decode_activation(quant::format(type).activation,
                                 acts.data() + static_cast<size_t>(t) * act_stride, x.data(), n);
        return x;
    }
    /// What the sum for (r, t) may be off by: every float operation rounds once, over at most `operations` in
    /// a row, each result at most the sum of all magnitudes. A block's magnitude is bounded by its largest
    /// weight, since scale and minimum enter apart.
    double bound(int64_t r, int64_t t) const {
        const auto w = row(r), x = act(t);
        const int64_t block = info(type).block == 1 ? 1 : info(type).block;
        double sum = 0;
        for (int64_t b = 0; b < n; b += block) {
            double largest = 0, acts_sum = 0;
            for (int64_t i = b; i < b + block; ++i) {
                largest = std::max(largest, std::fabs(static_cast<double>(w[static_cast<size_t>(i)])));
                acts_sum += std::fabs(static_cast<double>(x[static_cast<size_t>(i)]));
            }
            sum += largest * acts_sum;
        }
        const double operations =
            block == 1 ? static_cast<double>(n) / 16 + 6 : 2 * static_cast<double>(n / block) + 4;
        return operations * 0x1p-24 * sum * 2 + 1e-30;
    }
};

/// The instruction sets to test: what this machine can run, scalar last.
inline std::vector<std::string_view> isas() {
    return available_isas(read_cpu_info());
}

inline const Ops& table(std::string_view isa) {
    return ops(read_cpu_info(), isa);
}

inline bool same_bits(float a, float b) {
    return std::memcmp(&a, &b, sizeof a) == 0;
}

}  // namespace powerinfer::kernels
