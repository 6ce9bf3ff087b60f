// Dot and axpy the obvious way, for every weight format: decode a piece of a row, then use it. The reference
// that the vector kernels are tested against: sums of products are kept in double, weighted sums of block formats are
// the very bits that ops.h defines.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/cpu/kernel_sets.h"
#include "quant/coded.h"
#include "quant/format.h"
#include "quant/interleave.h"

namespace powerinfer::kernels::scalar {
namespace {

constexpr int64_t kPiece = 256;  // elements decoded at a time; a multiple of every block size

const uint8_t* row_at(const uint8_t* base, size_t stride, const int32_t* ids, int64_t i) {
    return base + static_cast<size_t>(ids ? ids[i] : i) * stride;
}

/// Sum over one piece of w[i] * x[at + i], where x is what an encoded activation vector of n values stands
/// for.
double piece_dot(quant::ActivationEncoding encoding, const float* w, const uint8_t* act, int64_t n,
                 int64_t at, int64_t count) {
    double sum = 0;
    if (encoding == quant::ActivationEncoding::f32) {
        const auto* x = reinterpret_cast<const float*>(act) + at;
        for (int64_t i = 0; i < count; ++i) sum += static_cast<double>(w[i]) * static_cast<double>(x[i]);
        return sum;
    }
    const int64_t block = encoding == quant::ActivationEncoding::q8_32 ? 32 : 256;
    const auto* q = reinterpret_cast<const int8_t*>(act) + at;
    const auto* d = reinterpret_cast<const float*>(act + quant::q8_parts(encoding, n).d) + at / block;
    for (int64_t b = 0; b < count / block; ++b) {
        double of_block = 0;
        for (int64_t i = b * block; i < (b + 1) * block; ++i) of_block += static_cast<double>(w[i]) * q[i];
        sum += of_block * static_cast<double>(d[b]);
    }
    return sum;
}

template <DType type>
void dot(const DotArgs& a) {
    constexpr int64_t kTokens = 16;  // per decoding of a row
    const quant::Format& format = quant::format(type);
    float w[kPiece];
    for (int64_t r = 0; r < a.n_rows; ++r) {
        const uint8_t* row = row_at(a.weights, a.row_stride, a.row_ids, r);
        for (int64_t t0 = 0; t0 < a.n_tokens; t0 += kTokens) {
            const int64_t n_tokens = a.n_tokens - t0 < kTokens ? a.n_tokens - t0 : kTokens;
            double sum[kTokens] = {};
            for (int64_t at = 0; at < a.n; at += kPiece) {
                const int64_t count = a.n - at < kPiece ? a.n - at : kPiece;
                format.decode(row + row_bytes(type, at), w, count);
                for (int64_t t = 0; t < n_tokens; ++t) {
                    const uint8_t* act = row_at(a.acts, a.act_stride, a.token_ids, t0 + t);
                    sum[t] += piece_dot(format.activation, w, act, a.n, at, count);
                }
            }
            for (int64_t t = 0; t < n_tokens; ++t)
                a.out[(t0 + t) * a.out_stride + r] = static_cast<float>(sum[t]);
        }
    }
}

int64_t axpy_id(const AxpyArgs& a, int64_t r) {
    return a.row_ids ? a.row_ids[r] : a.first_row + r;
}

template <DType type>
void dot_interleaved(const DotArgs& a) {
    std::vector<uint8_t> row(a.row_stride);
    DotArgs one = a;
    one.weights = row.data();
    one.n_rows = 1;
    for (int64_t r = 0; r < a.n_rows; ++r) {
        const int64_t in_strip = r % quant::kInterleavedRows;
        quant::take_row(type, a.weights + static_cast<size_t>(r - in_strip) * a.row_stride, in_strip, a.n, row.data());
        one.out = a.out + r;
        dot<type>(one);
    }
}

template <DType type>
void axpy_floats(const AxpyArgs& a) {
    const quant::Format& format = quant::format(type);
    float w[kPiece];
    for (int64_t r = 0; r < a.n_rows; ++r) {
        const float coef = a.coef[r];
        if (coef == 0) continue;
        const uint8_t* row = a.weights + static_cast<size_t>(axpy_id(a, r) - a.base_row) * a.row_stride;
        for (int64_t at = 0; at < a.n; at += kPiece) {
            const int64_t count = a.n - at < kPiece ? a.n - at : kPiece;
            format.decode(row + row_bytes(type, at), w, count);
            for (int64_t i = 0; i < count; ++i) a.out[at + i] += coef * w[i];
        }
    }
}

/// Rows [begin, end) of the list, which are one slab, for the block of columns that starts `at` bytes into a row.
void add_slab(const quant::CodedFormat& format, const AxpyArgs& a, int64_t begin, int64_t end, size_t at, float* out) {
    const int n_groups = format.block / format.group;
    quant::CodedBlock parts;
    const auto take = [&](int64_t r) {
        format.take_apart(a.weights + static_cast<size_t>(axpy_id(a, r) - a.base_row) * a.row_stride + at, parts);
    };
    float min_sum[16] = {}, inverse[16], scale[16];
    uint32_t largest[16] = {};  // bits of magnitudes, so that Inf and NaN come out on top
    for (int64_t r = begin; r < end; ++r) {
        take(r);
        for (int g = 0; g < n_groups; ++g) {
            const uint32_t bits = std::bit_cast<uint32_t>(a.coef[r] * parts.scale[g]) & 0x7FFFFFFFu;
            largest[g] = std::max(largest[g], bits);
            min_sum[g] = std::fma(a.coef[r], -parts.min[g], min_sum[g]);
        }
    }
    for (int g = 0; g < n_groups; ++g) {
        const auto max = std::bit_cast<float>(largest[g]);
        inverse[g] = scale[g] = 0;
        if (!std::isfinite(max)) {
            scale[g] = std::numeric_limits<float>::quiet_NaN();
        } else if (max >= kAxpySmallest) {
            inverse[g] = kAxpyLargest / max;
            scale[g] = max * (1.0f / kAxpyLargest);
        }
    }
    int32_t sum[256] = {};
    for (int64_t r = begin; r < end; ++r) {
        take(r);
        for (int g = 0; g < n_groups; ++g) {
            if (inverse[g] == 0) continue;
            const auto k = static_cast<int32_t>(std::lrint(a.coef[r] * parts.scale[g] * inverse[g]));
            for (int i = g * format.group; i < (g + 1) * format.group; ++i) sum[i] += k * parts.code[i];
        }
    }
    for (int i = 0; i < format.block; ++i) {
        const int g = i / format.group;
        const auto total = static_cast<float>(sum[i]);
        if (format.has_min) {
            out[i] += std::fma(scale[g], total, min_sum[g]);
        } else {
            out[i] = std::fma(scale[g], total, out[i]);
        }
    }
}

template <DType type>
void axpy_blocks(const AxpyArgs& a) {
    const quant::CodedFormat& format = *quant::find_coded_format(type);
    for (int64_t begin = 0, end = 0; begin < a.n_rows; begin = end) {
        const int64_t slab = axpy_id(a, begin) / kAxpySlab;
        while (end < a.n_rows && end - begin < kAxpySlab && axpy_id(a, end) / kAxpySlab == slab) ++end;
        for (int64_t at = 0; at < a.n; at += format.block)
            add_slab(format, a, begin, end, row_bytes(type, at), a.out + at);
    }
}

template <DType type>
void add(Ops& ops) {
    constexpr auto id = static_cast<size_t>(type);
    ops.dot[id] = dot<type>;
    if (quant::can_interleave(type)) ops.dot_interleaved[id] = dot_interleaved<type>;
    ops.axpy[id] = quant::find_coded_format(type) ? axpy_blocks<type> : axpy_floats<type>;
    ops.decode[id] = quant::format(type).decode;
}

}  // namespace

void add_matrix(Ops& ops) {
    add<DType::F32>(ops);
    add<DType::F16>(ops);
    add<DType::BF16>(ops);
    add<DType::Q4_0>(ops);
    add<DType::Q4_1>(ops);
    add<DType::Q5_0>(ops);
    add<DType::Q5_1>(ops);
    add<DType::Q8_0>(ops);
    add<DType::Q2_K>(ops);
    add<DType::Q3_K>(ops);
    add<DType::Q4_K>(ops);
    add<DType::Q5_K>(ops);
    add<DType::Q6_K>(ops);
    add<DType::IQ4_NL>(ops);
    add<DType::IQ4_XS>(ops);
    add<DType::MXFP4>(ops);
    add<DType::TQ1_0>(ops);
    add<DType::TQ2_0>(ops);
}

}  // namespace powerinfer::kernels::scalar
