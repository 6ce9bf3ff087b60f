// Sums over listed neurons of a matrix re-laid by neuron, for AVX2. The same operations as the scalar reference, so the
// same bits: products are summed as whole numbers, then one fused multiply-add per group and column.
#include <immintrin.h>

#include "kernels/cpu/grouped_lists.h"
#include "kernels/cpu/kernel_sets.h"

namespace powerinfer::kernels::avx2 {
namespace {

/// 32 codes of a row as signed bytes.
inline __m256i load_codes(const GroupedMatrix& m, const uint8_t* row, int64_t column, __m256i zero) {
    if (!m.packed) return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(row + column));
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(row + column / 2));
    const __m256i both = _mm256_set_m128i(_mm_srli_epi16(bytes, 4), bytes);
    return _mm256_sub_epi8(_mm256_and_si256(both, _mm256_set1_epi8(15)), zero);
}

inline __m256 load_scales(const GroupedMatrix& m, const uint8_t* row, int64_t column) {
    if (m.half_scales)
        return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(row + 2 * column)));
    return _mm256_loadu_ps(reinterpret_cast<const float*>(row + 4 * column));
}

/// Adds two rows' products for 32 columns: sums[k] holds columns 8k to 8k + 7.
inline void add_pair(__m256i a, __m256i b, int qa, int qb, __m256i sums[4]) {
    // Pairs (a, b) of bytes: columns 0-7 | 16-23 in `low`, 8-15 | 24-31 in `high`.
    const __m256i low = _mm256_unpacklo_epi8(a, b), high = _mm256_unpackhi_epi8(a, b);
    const __m256i q = _mm256_set1_epi32((qb << 16) | (qa & 0xFFFF));
    const auto product = [&](__m128i pairs) { return _mm256_madd_epi16(_mm256_cvtepi8_epi16(pairs), q); };
    sums[0] = _mm256_add_epi32(sums[0], product(_mm256_castsi256_si128(low)));
    sums[1] = _mm256_add_epi32(sums[1], product(_mm256_castsi256_si128(high)));
    sums[2] = _mm256_add_epi32(sums[2], product(_mm256_extracti128_si256(low, 1)));
    sums[3] = _mm256_add_epi32(sums[3], product(_mm256_extracti128_si256(high, 1)));
}

inline void add_columns(const GroupedMatrix& m, const Listed& listed, float d, const uint8_t* scales, const uint8_t* mins,
                        int64_t column, float* out) {
    const __m256i zero = _mm256_set1_epi8(static_cast<char>(m.zero));
    __m256i sums[4] = {};
    int k = 0;
    for (; k + 2 <= listed.count; k += 2)
        add_pair(load_codes(m, listed.row[k], column, zero), load_codes(m, listed.row[k + 1], column, zero), listed.q[k],
                 listed.q[k + 1], sums);
    if (k < listed.count)
        add_pair(load_codes(m, listed.row[k], column, zero), _mm256_setzero_si256(), listed.q[k], 0, sums);
    const __m256 vd = _mm256_set1_ps(d);
    for (int part = 0; part < 4; ++part) {
        __m256 y = _mm256_loadu_ps(out + 8 * part);
        const __m256 scale = _mm256_mul_ps(vd, load_scales(m, scales, column + 8 * part));
        y = _mm256_fmadd_ps(scale, _mm256_cvtepi32_ps(sums[part]), y);
        if (mins) {
            const __m256 min = _mm256_mul_ps(vd, load_scales(m, mins, column + 8 * part));
            y = _mm256_fnmadd_ps(min, _mm256_set1_ps(static_cast<float>(listed.sum_q)), y);
        }
        _mm256_storeu_ps(out + 8 * part, y);
    }
}

}  // namespace

void add_grouped(Ops& ops) {
    ops.grouped_axpy = grouped_axpy<add_columns>;
}

}  // namespace powerinfer::kernels::avx2
