#include "engine/kv_cache.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/half.h"
#include "quant/format.h"

namespace powerinfer::engine {
namespace {

constexpr int kBlock = 32;  // elements that share a scale in Q8_0

size_t cache_bytes(const model::ModelSpec& spec, int n_ctx, int n_seq, size_t head_bytes) {
    const double bytes = 2.0 * spec.n_layer * spec.n_head_kv * static_cast<double>(head_bytes) * n_seq;
    if (bytes > static_cast<double>(uint64_t{1} << 46))
        fail(ErrorKind::out_of_memory, "a KV cache of {} positions for {} sequences needs {:.0f} GiB", n_ctx, n_seq,
             bytes / (1 << 30));
    return static_cast<size_t>(bytes);
}

size_t row_bytes_apart(const model::ModelSpec& spec, DType type) {
    return type == DType::Q8_0 ? static_cast<size_t>(spec.head_dim) : row_bytes(type, spec.head_dim);
}

size_t round_up(size_t n, size_t unit) {
    return (n + unit - 1) / unit * unit;
}

}  // namespace

KvCache::KvCache(const model::ModelSpec& spec, int n_ctx, int n_seq, DType type)
    : n_layer_(spec.n_layer),
      n_head_kv_(spec.n_head_kv),
      head_dim_(spec.head_dim),
      n_ctx_(n_ctx),
      type_(type),
      row_stride_(row_bytes_apart(spec, type)),
      scale_stride_(type == DType::Q8_0 ? round_up(static_cast<size_t>(n_ctx), 32) : 0),
      n_scales_(type == DType::Q8_0 ? static_cast<size_t>(head_dim_ / kBlock) : 0),
      head_bytes_(round_up(static_cast<size_t>(n_ctx) * row_stride_, 64) + n_scales_ * scale_stride_ * sizeof(uint16_t)),
      buffer_(cache_bytes(spec, n_ctx, n_seq, head_bytes_)),
      n_past_(static_cast<size_t>(n_seq), 0) {}

KvCache::Head KvCache::at(int seq, int layer, int is_value, int head) {
    const auto plane = (static_cast<size_t>(seq) * static_cast<size_t>(n_layer_) + static_cast<size_t>(layer)) * 2 +
                       static_cast<size_t>(is_value);
    uint8_t* rows = buffer_.data() + (plane * static_cast<size_t>(n_head_kv_) + static_cast<size_t>(head)) * head_bytes_;
    uint8_t* scales = rows + round_up(static_cast<size_t>(n_ctx_) * row_stride_, 64);
    return {rows, reinterpret_cast<uint16_t*>(scales)};
}

void KvCache::store(const Head& head, int position, const float* x, const kernels::Ops& ops) const {
    uint8_t* row = head.rows + static_cast<size_t>(position) * row_stride_;
    if (type_ == DType::F16) {
        ops.f32_to_f16(x, reinterpret_cast<uint16_t*>(row), head_dim_);
    } else if (type_ != DType::Q8_0) {
        quant::format(type_).encode(x, row, head_dim_, nullptr);
    } else {
        constexpr auto kEncoding = quant::ActivationEncoding::q8_32;
        constexpr int kMost = 256;  // elements encoded in one go
        const quant::Q8Parts most = quant::q8_parts(kEncoding, kMost);
        alignas(64) uint8_t encoded[4 * kMost];
        for (int i = 0; i < head_dim_; i += kMost) {
            const int n = std::min(kMost, head_dim_ - i);
            const quant::Q8Parts parts = n == kMost ? most : quant::q8_parts(kEncoding, n);
            ops.encode(kEncoding, x + i, encoded, n);
            std::memcpy(row + i, encoded, static_cast<size_t>(n));
            const auto* d = reinterpret_cast<const float*>(encoded + parts.d);
            for (int b = 0; b < n / kBlock; ++b)
                head.scales[static_cast<size_t>(i / kBlock + b) * scale_stride_ + static_cast<size_t>(position)] =
                    f32_to_f16(d[b]);
        }
    }
}

void KvCache::load(const Head& head, int position, float* x) const {
    const uint8_t* row = head.rows + static_cast<size_t>(position) * row_stride_;
    if (type_ != DType::Q8_0) {
        quant::format(type_).decode(row, x, head_dim_);
        return;
    }
    for (int i = 0; i < head_dim_; ++i)
        x[i] = f16_to_f32(head.scales[static_cast<size_t>(i / kBlock) * scale_stride_ + static_cast<size_t>(position)]) *
               static_cast<float>(static_cast<int8_t>(row[i]));
}

void KvCache::move(const Head& from, int from_position, const Head& to, int to_position, int n) const {
    const auto first = static_cast<size_t>(from_position), target = static_cast<size_t>(to_position);
    const auto count = static_cast<size_t>(n);
    std::memmove(to.rows + target * row_stride_, from.rows + first * row_stride_, count * row_stride_);
    for (size_t b = 0; b < n_scales_; ++b)
        std::memmove(to.scales + b * scale_stride_ + target, from.scales + b * scale_stride_ + first,
                     count * sizeof(uint16_t));
}

void KvCache::shift(int seq, int n_keep, int n_discard, const RopeTable& rope, const kernels::Ops& ops) {
    const int end = n_past(seq);
    const int n_moved = end - n_keep - n_discard;
    std::vector<float> cos(static_cast<size_t>(rope.n_pairs())), sin(cos.size());
    rope.delta_angles(-n_discard, cos.data(), sin.data());
    std::vector<float> row(static_cast<size_t>(head_dim_));
    for (int layer = 0; layer < n_layer_; ++layer) {
        for (int h = 0; h < n_head_kv_; ++h) {
            const Head k = keys(seq, layer, h), v = values(seq, layer, h);
            move(k, n_keep + n_discard, k, n_keep, n_moved);
            move(v, n_keep + n_discard, v, n_keep, n_moved);
            for (int p = n_keep; p < n_keep + n_moved; ++p) {
                load(k, p, row.data());
                rope.rotate(row.data(), cos.data(), sin.data());
                store(k, p, row.data(), ops);
            }
        }
    }
    set_n_past(seq, end - n_discard);
}

void KvCache::copy(int from, int to, int n_past) {
    if (from != to) {
        for (int layer = 0; layer < n_layer_; ++layer) {
            for (int h = 0; h < n_head_kv_; ++h) {
                move(keys(from, layer, h), 0, keys(to, layer, h), 0, n_past);
                move(values(from, layer, h), 0, values(to, layer, h), 0, n_past);
            }
        }
    }
    set_n_past(to, n_past);
}

std::vector<std::span<uint8_t>> KvCache::pieces(int seq, int n_past) {
    const auto n = static_cast<size_t>(n_past);
    std::vector<std::span<uint8_t>> all;
    for (int layer = 0; layer < n_layer_; ++layer)
        for (const int is_value : {0, 1})
            for (int h = 0; h < n_head_kv_; ++h) {
                const Head head = at(seq, layer, is_value, h);
                all.emplace_back(head.rows, n * row_stride_);
                for (size_t b = 0; b < n_scales_; ++b)
                    all.emplace_back(reinterpret_cast<uint8_t*>(head.scales + b * scale_stride_), n * sizeof(uint16_t));
            }
    return all;
}

}  // namespace powerinfer::engine
