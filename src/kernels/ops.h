// The fixed table of operations that an instruction set provides. Knows rows, row lists and vectors, never layers.
//
// One rule binds all of them: the result for a (row, token) pair does not depend on which other rows or tokens the call
// computes, nor on how a caller cuts its work into calls. So callers may batch, split and skip freely and results stay
// bit-identical on a given instruction set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/cpu_info.h"
#include "base/dtype.h"
#include "quant/activation_q8.h"

namespace powerinfer::kernels {

/// out[t * out_stride + r] = row(r) . act(t) for all r < n_rows and t < n_tokens, where
///   row(r) = weights + (row_ids ? row_ids[r] : r) * row_stride, n elements of the format, and
///   act(t) = acts + (token_ids ? token_ids[t] : t) * act_stride, encoded as the format's ActivationEncoding.
/// `out` is indexed by the position in the lists, not by the id.
struct DotArgs {
    const uint8_t* weights;
    size_t row_stride;  ///< bytes
    const int32_t* row_ids = nullptr;
    int64_t n_rows;
    int64_t n;  ///< elements per row
    const uint8_t* acts;
    size_t act_stride = 0;  ///< bytes
    const int32_t* token_ids = nullptr;
    int64_t n_tokens = 1;
    float* out;
    int64_t out_stride = 0;  ///< floats from one token's results to the next
};
/// Rows are computed in groups of this many: cut rows for threads at multiples of it (or lists of such lengths) for
/// speed. Results do not depend on the cut.
inline constexpr int64_t kRowGroup = 16;
using DotFn = void (*)(const DotArgs&);

/// out[k] = row(r) . act(tokens[k]) for starts[r] <= k < starts[r + 1] and all r < n_rows, with row(r) and act(t) as in
/// DotArgs, except that the activations lie in lane order (quant/lane_order.h). Gives the bits that DotFn gives, at
/// nearly its speed per product, also for a row that only a few tokens need.
struct ListsArgs {
    const uint8_t* weights;
    size_t row_stride;  ///< bytes
    int64_t n_rows;
    int64_t n;  ///< elements per row
    const uint8_t* acts;
    size_t act_stride;      ///< bytes
    const int32_t* starts;  ///< [n_rows + 1], ascending from 0
    const int32_t* tokens;  ///< [starts[n_rows]]
    float* out;             ///< [starts[n_rows]]
};
using ListsFn = void (*)(const ListsArgs&);

/// out[i] += coef[r] * row(r)[i] for i in [0, n), where
///   row(r) = weights + (id(r) - base_row) * row_stride and id(r) = row_ids ? row_ids[r] : first_row + r.
/// A zero coefficient leaves `out` as it was (unless the row holds Inf or NaN), but its row is read all the same:
/// rows that need not be read are left out of the list.
///
/// F32, F16 and BF16: the rows are added one after another in list order, one fused multiply-add each.
///
/// Block formats, x = d * q + m per group of columns with one scale: the rows are added slab by slab. A slab is a run of
/// the list whose ids agree in id / kAxpySlab, and no longer than kAxpySlab. For every group of columns of a slab:
///   c[r] = coef[r] * d[r],   max = the largest |c[r]|,   k[r] = c[r] * (kAxpyLargest / max), rounded to nearest even,
///   out[i] += max * (1 / kAxpyLargest) * (sum of k[r] * q[r][i]) + (sum of coef[r] * m[r]),
/// the first sum in whole numbers, the second one by fused multiply-adds in list order. So the result is off by at most
/// max * |q| / (2 * kAxpyLargest) per row, far less than the weights themselves, and rows with a zero coefficient may be
/// listed or not, columns may be cut at whole blocks and lists between two slabs: neither changes a bit. Groups whose
/// max is below kAxpySmallest count as zero; groups with an Inf or NaN among c[r] give NaN.
struct AxpyArgs {
    const uint8_t* weights;
    size_t row_stride;  ///< bytes
    const int32_t* row_ids = nullptr;
    const float* coef;
    int64_t n_rows;
    int64_t n;
    float* out;
    int64_t first_row = 0;  ///< id of the first row where there is no list
    int64_t base_row = 0;   ///< id of the row that lies at `weights`
};
/// 512 codes of up to 255 times 16383 fit 32 bits.
inline constexpr int64_t kAxpySlab = 512;
inline constexpr float kAxpyLargest = 16383.0f;
inline constexpr float kAxpySmallest = 0x1p-100f;
using AxpyFn = void (*)(const AxpyArgs&);

/// Columns of rows that many tokens add up, taken apart once for all of them.
inline constexpr int64_t kPreparedColumns = 256;
struct PrepareArgs {
    const uint8_t* weights;  ///< at the first of the columns
    size_t row_stride;       ///< bytes
    int64_t n_rows;
    int64_t n;     ///< columns, at most kPreparedColumns, whole blocks
    uint8_t* dst;  ///< [n_rows] of PreparedAxpy::row_bytes, aligned to 64
};
/// axpy() takes rows as prepare() wrote them, row_bytes apart, and gives the bits that AxpyFn gives for the columns.
struct PreparedAxpy {
    size_t row_bytes = 0;
    void (*prepare)(const PrepareArgs&) = nullptr;
    AxpyFn axpy = nullptr;
};

/// A matrix of blocks re-laid by neuron, without loss: neuron j has a row of codes, and `group` neighbouring neurons
/// share a scale (and a minimum) per column, so that w(j, i) = scale(j / group, i) * code(j, i) - min(j / group, i).
/// Rows are padded to a multiple of 32 columns.
struct GroupedMatrix {
    const uint8_t* codes;
    size_t code_stride;     ///< bytes from neuron to neuron
    bool packed;            ///< two codes per byte, each stored plus `zero`: of 32 columns, byte k holds k and k + 16
    int zero;
    const uint8_t* scales;  ///< F16 if half_scales, else F32
    size_t scale_stride;    ///< bytes from group to group
    bool half_scales;
    const uint8_t* mins;    ///< as the scales, or null
    int group;
};

/// out[i] += sum over the listed neurons j of h(j) * w(j, i), for columns [column, column + n), column a multiple of 32.
/// h(j) = d[j / d_block] * q[j] is an encoded activation vector. Within a group products are summed as whole numbers;
/// the groups' sums are added one after another. Neurons with q = 0 may be listed or not.
struct GroupedArgs {
    const GroupedMatrix* matrix;
    int64_t first_neuron = 0;  ///< of the matrix: ids, q and d count from here; a multiple of group and d_block
    const int32_t* ids;        ///< ascending
    int64_t n_ids;
    const int8_t* q;
    const float* d;
    int d_block;               ///< a multiple of group, or a divisor of it
    int64_t column, n;
    float* out;
};
using GroupedFn = void (*)(const GroupedArgs&);

/// Positions between two updates of the running softmax.
inline constexpr int64_t kAttentionBlock = 64;

/// Attention of one query head group over a run of cached positions, with a running (online) softmax.
/// The state is updated after every kAttentionBlock positions, counted from the first of the call. So a run may be cut
/// into calls at multiples of kAttentionBlock without changing a bit; cut elsewhere, rounding differs. Results do not
/// depend on n_group.
/// A Q8_0 cache keeps quants and scales apart: rows of head_dim int8 and, for each block b of 32 of them, F16 scales of
/// successive positions. Its queries come encoded as q8_32, so that keys meet them in whole numbers.
struct AttentionArgs {
    const uint8_t* q;      ///< n_group queries, already scaled: f32 or, for a Q8_0 cache, q8_32
    size_t q_stride;       ///< bytes between queries
    int n_group;           ///< query heads that share this KV head
    int head_dim_k, head_dim_v;  ///< multiples of 32 for a Q8_0 cache
    const uint8_t* k;      ///< first cached key row of this head
    const uint8_t* v;
    size_t k_stride, v_stride;  ///< bytes between positions
    const uint16_t* k_scales = nullptr;  ///< Q8_0: scale of block b at [b * scale_stride + position]
    const uint16_t* v_scales = nullptr;
    size_t scale_stride = 0;
    int64_t n_positions;   ///< in this run
    float softcap = 0;     ///< 0 = none: score = softcap * tanh(score / softcap)
    float* max;            ///< [n_group] running maximum, start at -inf
    float* sum;            ///< [n_group] running sum of exp(score - max), start at 0
    float* acc;            ///< [n_group][head_dim_v] running weighted sum of values, start at 0
};
using AttentionFn = void (*)(const AttentionArgs&);

enum class GateActivation { silu, relu, relu_squared, gelu, gelu_quick, drelu };

/// Table of one instruction set. Entries by DType id are null for types without weights.
struct Ops {
    std::string_view isa;  ///< "scalar", "avx2", "avxvnni", "avx512", "neon", "neon_i8mm"
    DotFn dot[kDTypeIdEnd] = {};
    /// The same for rows interleaved by 16 (quant/interleave.h): `weights` is where the first row's strip begins, row_stride
    /// the bytes of a row before it was interleaved, and there is no row list. Gives the bits that `dot` gives.
    DotFn dot_interleaved[kDTypeIdEnd] = {};
    /// Rows by token lists; null where `dot` with token_ids is all there is.
    ListsFn dot_lists[kDTypeIdEnd] = {};
    AxpyFn axpy[kDTypeIdEnd] = {};
    /// Null where `axpy` is all there is.
    PreparedAxpy prepared_axpy[kDTypeIdEnd] = {};
    GroupedFn grouped_axpy = nullptr;
    void (*encode)(quant::ActivationEncoding, const float* x, void* dst, int64_t n) = nullptr;
    /// Decodes n elements of a row to f32 (embedding look-up, re-laying).
    void (*decode[kDTypeIdEnd])(const void* src, float* dst, int64_t n) = {};
    /// y[i] = x[i] / sqrt(mean(x^2) + eps) * weight[i]; y may be x.
    void (*rms_norm)(const float* x, const float* weight, float* y, int64_t n, float eps) = nullptr;
    /// y[i] += x[i]
    void (*add)(const float* x, float* y, int64_t n) = nullptr;
    /// h[i] = act(gate[i]) * up[i]; drelu also clamps `up` at zero. `up` may be null for ungated networks: act(gate).
    /// Element by element, so h may be `gate` or `up`. gelu is the tanh form.
    void (*gate)(GateActivation act, const float* gate, const float* up, float* h, int64_t n) = nullptr;
    /// By the type of cached keys and values: F32, F16, BF16, Q8_0.
    AttentionFn attention[kDTypeIdEnd] = {};
    void (*f32_to_f16)(const float* x, uint16_t* y, int64_t n) = nullptr;
};

/// The instruction sets compiled into this binary that this CPU can run, best first; "scalar" is always last.
std::vector<std::string_view> available_isas(const CpuInfo& cpu);

/// All that are compiled in, whether the CPU has them or not.
std::vector<std::string_view> compiled_isas();

/// The table for a name, or for the best available one when the name is empty. Throws Error{unsupported} saying what is
/// missing when the name is unknown or the CPU cannot run it. The environment variable POWERINFER_ISA is read by callers.
const Ops& ops(const CpuInfo& cpu, std::string_view isa = {});

}  // namespace powerinfer::kernels
