#include "engine/kv_cache.h"

#include <cstring>
#include <limits>

#include "base/error.h"
#include "base/half.h"

namespace powerinfer::engine {
namespace {

size_t cache_bytes(const model::ModelSpec& spec, int n_ctx, int n_seq, size_t row) {
    const double bytes = 2.0 * spec.n_layer * spec.n_head_kv * static_cast<double>(row) * n_ctx * n_seq;
    if (bytes > static_cast<double>(uint64_t{1} << 46))
        fail(ErrorKind::out_of_memory, "a KV cache of {} positions for {} sequences needs {:.0f} GiB", n_ctx, n_seq,
             bytes / (1 << 30));
    return static_cast<size_t>(bytes);
}

}  // namespace

KvCache::KvCache(const model::ModelSpec& spec, int n_ctx, int n_seq, DType type)
    : n_layer_(spec.n_layer),
      n_head_kv_(spec.n_head_kv),
      head_dim_(spec.head_dim),
      n_ctx_(n_ctx),
      type_(type),
      row_bytes_(powerinfer::row_bytes(type, spec.head_dim)),
      buffer_(cache_bytes(spec, n_ctx, n_seq, row_bytes_)),
      n_past_(static_cast<size_t>(n_seq), 0) {}

uint8_t* KvCache::at(int seq, int layer, int is_value, int head) {
    const auto plane = (static_cast<size_t>(seq) * static_cast<size_t>(n_layer_) + static_cast<size_t>(layer)) * 2 +
                       static_cast<size_t>(is_value);
    const size_t index = plane * static_cast<size_t>(n_head_kv_) + static_cast<size_t>(head);
    return buffer_.data() + index * static_cast<size_t>(n_ctx_) * row_bytes_;
}

void KvCache::store(uint8_t* head, int position, const float* x, const kernels::Ops& ops) const {
    uint8_t* row = head + static_cast<size_t>(position) * row_bytes_;
    if (type_ == DType::F16) {
        ops.f32_to_f16(x, reinterpret_cast<uint16_t*>(row), head_dim_);
    } else {
        std::memcpy(row, x, row_bytes_);
    }
}

void KvCache::shift(int seq, int n_keep, int n_discard, const RopeTable& rope) {
    const int end = n_past(seq);
    const int n_moved = end - n_keep - n_discard;
    std::vector<float> cos(static_cast<size_t>(rope.n_pairs())), sin(cos.size());
    rope.delta_angles(-n_discard, cos.data(), sin.data());
    std::vector<float> head(static_cast<size_t>(head_dim_));
    const auto offset = [&](int position) { return static_cast<size_t>(position) * row_bytes_; };
    for (int layer = 0; layer < n_layer_; ++layer) {
        for (int h = 0; h < n_head_kv_; ++h) {
            for (uint8_t* rows : {keys(seq, layer, h), values(seq, layer, h)})
                std::memmove(rows + offset(n_keep), rows + offset(n_keep + n_discard), offset(n_moved));
            for (int p = n_keep; p < n_keep + n_moved; ++p) {
                uint8_t* row = keys(seq, layer, h) + offset(p);
                auto* halves = reinterpret_cast<uint16_t*>(row);
                for (int i = 0; i < head_dim_; ++i) {
                    if (type_ == DType::F16) {
                        head[static_cast<size_t>(i)] = f16_to_f32(halves[i]);
                    } else {
                        std::memcpy(&head[static_cast<size_t>(i)], row + static_cast<size_t>(i) * 4, 4);
                    }
                }
                rope.rotate(head.data(), cos.data(), sin.data());
                for (int i = 0; i < head_dim_; ++i) {
                    if (type_ == DType::F16) {
                        halves[i] = f32_to_f16(head[static_cast<size_t>(i)]);
                    } else {
                        std::memcpy(row + static_cast<size_t>(i) * 4, &head[static_cast<size_t>(i)], 4);
                    }
                }
            }
        }
    }
    set_n_past(seq, end - n_discard);
}

void KvCache::copy(int from, int to, int n_past) {
    if (from != to) {
        const size_t bytes = static_cast<size_t>(n_past) * row_bytes_;
        for (int layer = 0; layer < n_layer_; ++layer) {
            for (int h = 0; h < n_head_kv_; ++h) {
                std::memcpy(keys(to, layer, h), keys(from, layer, h), bytes);
                std::memcpy(values(to, layer, h), values(from, layer, h), bytes);
            }
        }
    }
    set_n_past(to, n_past);
}

}  // namespace powerinfer::engine
