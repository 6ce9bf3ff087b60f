// Dot and axpy the obvious way, for every weight format: decode a piece of a row, then use it. The reference
// that the vector kernels are tested against, so sums are kept in double.
#include "kernels/cpu/kernel_sets.h"
#include "quant/format.h"

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

template <DType type>
void axpy(const AxpyArgs& a) {
    const quant::Format& format = quant::format(type);
    float w[kPiece];
    for (int64_t r = 0; r < a.n_rows; ++r) {
        const float coef = a.coef[r];
        if (coef == 0) continue;
        const uint8_t* row = row_at(a.weights, a.row_stride, a.row_ids, r);
        for (int64_t at = 0; at < a.n; at += kPiece) {
            const int64_t count = a.n - at < kPiece ? a.n - at : kPiece;
            format.decode(row + row_bytes(type, at), w, count);
            for (int64_t i = 0; i < count; ++i) a.out[at + i] += coef * w[i];
        }
    }
}

template <DType type>
void add(Ops& ops) {
    constexpr auto id = static_cast<size_t>(type);
    ops.dot[id] = dot<type>;
    ops.axpy[id] = axpy<type>;
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
