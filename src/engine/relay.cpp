#include "engine/relay.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "base/half.h"
#include "quant/coded.h"
#include "quant/interleave.h"

namespace powerinfer::engine {
namespace {

/// dst {n_out, n_in} = transpose of src {n_in, n_out}, in squares that fit the first-level cache.
template <class T>
void transpose_elements(const T* src, T* dst, int64_t n_in, int64_t n_out, ThreadPool& pool) {
    constexpr int64_t kSquare = 64;
    pool.for_each(n_in, kSquare, [&](int64_t begin, int64_t end) {
        for (int64_t out = 0; out < n_out; out += kSquare) {
            for (int64_t i = begin; i < end; ++i) {
                for (int64_t o = out; o < std::min(out + kSquare, n_out); ++o) dst[i * n_out + o] = src[o * n_in + i];
            }
        }
    });
}

size_t round_up(int64_t n, int64_t multiple) {
    return static_cast<size_t>((n + multiple - 1) / multiple * multiple);
}

}  // namespace

bool is_plain(DType type) {
    return type == DType::F32 || type == DType::F16 || type == DType::BF16;
}

TensorView interleave(const TensorView& view, AlignedBuffer& memory, ThreadPool& pool, const Filler& fill) {
    const int64_t n = view.ne[0], n_rows = view.ne[1];
    memory = AlignedBuffer(quant::interleaved_bytes(view.type, n, n_rows));
    const TensorView strips{memory.data(), view.type, view.ne};
    if (fill && fill(memory)) return strips;
    pool.for_each((n_rows + quant::kInterleavedRows - 1) / quant::kInterleavedRows, 4, [&](int64_t begin, int64_t end) {
        for (int64_t strip = begin; strip < end; ++strip) {
            const int64_t row = strip * quant::kInterleavedRows;
            quant::interleave(view.type, view.row(row), view.row_bytes(), std::min(quant::kInterleavedRows, n_rows - row), n,
                              memory.data() + static_cast<size_t>(row) * view.row_bytes());
        }
    });
    return strips;
}

TensorView copy(const TensorView& view, AlignedBuffer& memory, ThreadPool& pool) {
    memory = AlignedBuffer(view.n_bytes());
    pool.for_each(view.ne[1], 64, [&](int64_t begin, int64_t end) {
        std::memcpy(memory.data() + static_cast<size_t>(begin) * view.row_bytes(), view.row(begin),
                    static_cast<size_t>(end - begin) * view.row_bytes());
    });
    return {memory.data(), view.type, view.ne};
}

TensorView transpose(const TensorView& down, AlignedBuffer& memory, ThreadPool& pool, const Filler& fill) {
    assert(is_plain(down.type));
    memory = AlignedBuffer(down.n_bytes());
    const TensorView by_neuron{memory.data(), down.type, {down.ne[1], down.ne[0], 1, 1}};
    if (fill && fill(memory)) return by_neuron;
    if (down.type == DType::F32) {
        transpose_elements(static_cast<const uint32_t*>(down.data), memory.as<uint32_t>(), down.ne[0], down.ne[1], pool);
    } else {
        transpose_elements(static_cast<const uint16_t*>(down.data), memory.as<uint16_t>(), down.ne[0], down.ne[1], pool);
    }
    return by_neuron;
}

kernels::GroupedMatrix group_by_neuron(const TensorView& down, AlignedBuffer& memory, ThreadPool& pool, const Filler& fill) {
    const quant::CodedFormat& format = *quant::find_coded_format(down.type);
    const int64_t n_ff = down.ne[0], n_embd = down.ne[1], n_groups = n_ff / format.group;
    const size_t columns = round_up(n_embd, 32);
    kernels::GroupedMatrix m{};
    m.packed = format.highest - format.lowest <= 15;
    m.zero = m.packed ? -format.lowest : 0;
    m.half_scales = format.half_scale;
    m.group = format.group;
    m.code_stride = m.packed ? columns / 2 : columns;
    m.scale_stride = columns * (m.half_scales ? 2 : 4);
    const size_t code_bytes = round_up(n_ff * static_cast<int64_t>(m.code_stride), 64);
    const size_t scale_bytes = round_up(n_groups * static_cast<int64_t>(m.scale_stride), 64);
    memory = AlignedBuffer(code_bytes + scale_bytes * (format.has_min ? 2 : 1));
    uint8_t* codes = memory.data();
    uint8_t* scales = codes + code_bytes;
    uint8_t* mins = format.has_min ? scales + scale_bytes : nullptr;
    m.codes = codes;
    m.scales = scales;
    m.mins = mins;
    if (fill && fill(memory)) return m;

    const auto put_scale = [&](uint8_t* base, int64_t group, int64_t column, float value) {
        uint8_t* row = base + static_cast<size_t>(group) * m.scale_stride;
        if (m.half_scales) {
            reinterpret_cast<uint16_t*>(row)[column] = f32_to_f16(value);
        } else {
            reinterpret_cast<float*>(row)[column] = value;
        }
    };
    const size_t block_bytes = static_cast<size_t>(info(down.type).bytes);
    // A block holds `block` neurons of one column. Threads take runs of neurons, so no two write to the same row.
    pool.for_each(n_ff / format.block, 1, [&](int64_t b, int64_t) {
        quant::CodedBlock parts;
        for (int64_t column = 0; column < n_embd; ++column) {
            format.take_apart(down.row(column) + static_cast<size_t>(b) * block_bytes, parts);
            for (int g = 0; g < format.block / format.group; ++g) {
                const int64_t group = b * (format.block / format.group) + g;
                put_scale(scales, group, column, parts.scale[g]);
                if (mins) put_scale(mins, group, column, parts.min[g]);
            }
            const int64_t k = column % 32;
            for (int j = 0; j < format.block; ++j) {
                uint8_t* row = codes + static_cast<size_t>(b * format.block + j) * m.code_stride;
                if (!m.packed) {
                    row[column] = static_cast<uint8_t>(parts.code[j]);
                } else {
                    row[column / 32 * 16 + k % 16] |=
                        static_cast<uint8_t>((parts.code[j] + m.zero) << (k < 16 ? 0 : 4));
                }
            }
        }
    });
    return m;
}

}  // namespace powerinfer::engine
