#include "quant/interleave.h"

#include <cassert>
#include <cstring>

#include "quant/format.h"

namespace powerinfer::quant {
namespace {

/// Bytes at the ends of a block that are not in units of four.
struct Ends {
    size_t head, head_unit, tail, tail_unit;
};

Ends ends_of(DType type) {
    switch (type) {
        case DType::Q4_0:
        case DType::Q5_0:
        case DType::Q8_0:
        case DType::IQ4_NL:
            return {2, 2, 0, 0};
        case DType::Q4_1:
        case DType::Q5_1:
            return {4, 2, 0, 0};
        case DType::MXFP4:
            return {1, 1, 0, 0};
        case DType::Q3_K:
        case DType::Q6_K:
        case DType::TQ1_0:
        case DType::TQ2_0:
            return {0, 0, 2, 2};
        default:
            return {};
    }
}

/// Calls move(offset in the row, unit) for every unit of a block that begins at `at`.
template <class Move>
void for_each_unit(DType type, size_t at, Move&& move) {
    const Ends ends = ends_of(type);
    const auto bytes = static_cast<size_t>(info(type).bytes);
    size_t o = 0;
    for (; o < ends.head; o += ends.head_unit) move(at + o, ends.head_unit);
    for (; o < bytes - ends.tail; o += 4) move(at + o, size_t{4});
    for (; o < bytes; o += ends.tail_unit) move(at + o, ends.tail_unit);
}

constexpr auto kRows = static_cast<size_t>(kInterleavedRows);

}  // namespace

bool can_interleave(DType type) {
    const Format* format = find_format(type);
    return format && format->activation != ActivationEncoding::f32;
}

size_t interleaved_bytes(DType type, int64_t n, int64_t n_rows) {
    const int64_t strips = (n_rows + kInterleavedRows - 1) / kInterleavedRows;
    return static_cast<size_t>(strips) * kRows * row_bytes(type, n);
}

void interleave(DType type, const uint8_t* rows, size_t row_stride, int64_t n_rows, int64_t n,
                uint8_t* strip) {
    assert(can_interleave(type) && n_rows <= kInterleavedRows);
    const size_t bytes = row_bytes(type, n), block = static_cast<size_t>(info(type).bytes);
    if (n_rows < kInterleavedRows) std::memset(strip, 0, kRows * bytes);
    for (size_t at = 0; at < bytes; at += block) {
        for_each_unit(type, at, [&](size_t o, size_t unit) {
            for (size_t r = 0; r < static_cast<size_t>(n_rows); ++r) {
                const uint8_t* from = rows + r * row_stride + o;
                uint8_t* to = strip + kRows * o + r * unit;
                if (unit == 4) {
                    std::memcpy(to, from, 4);
                } else {
                    std::memcpy(to, from, unit);
                }
            }
        });
    }
}

void take_row(DType type, const uint8_t* strip, int64_t row, int64_t n, uint8_t* dst) {
    assert(can_interleave(type) && row < kInterleavedRows);
    const size_t bytes = row_bytes(type, n), block = static_cast<size_t>(info(type).bytes);
    for (size_t at = 0; at < bytes; at += block) {
        for_each_unit(type, at, [&](size_t o, size_t unit) {
            std::memcpy(dst + o, strip + kRows * o + static_cast<size_t>(row) * unit, unit);
        });
    }
}

}  // namespace powerinfer::quant
