// Sums of weighted rows of the block formats, computed in whole numbers slab by slab, as AxpyArgs in ops.h defines them.
//
// Rows of a slab are visited twice, a tile of columns at a time so that the second visit finds them in the cache: first
// their scales become 15-bit coefficients, then codes times coefficients are summed in registers, two rows per
// multiplication. While that goes on, the rows of the next tile or slab are asked for.
// For files compiled for one instruction set only, hence the anonymous namespace.
#pragma once

#include "kernels/cpu/slab_formats.h"
#include "kernels/ops.h"

namespace powerinfer::kernels {
namespace {

/// Columns of a tile if the slab has few rows.
constexpr int64_t kTileColumns = 512;
/// Coefficients of a tile.
constexpr int64_t kTileCoefs = 8192;
constexpr int64_t kMaxGroups = kTileColumns / 16;

/// Rows of a call that are computed together.
struct Slab {
    const uint8_t* row[kAxpySlab + 1];
    float coef[kAxpySlab + 1];
    int64_t n = 0;

    /// Takes the next rows from position r on and moves r behind them.
    void take(const AxpyArgs& a, int64_t& r) {
        n = 0;
        const auto id = [&a](int64_t i) { return a.row_ids ? a.row_ids[i] : a.first_row + i; };
        for (const int64_t slab = r < a.n_rows ? id(r) / kAxpySlab : 0;
             r < a.n_rows && n < kAxpySlab && id(r) / kAxpySlab == slab; ++r) {
            row[n] = a.weights + static_cast<size_t>(id(r) - a.base_row) * a.row_stride;
            coef[n++] = a.coef[r];
        }
        if (n % 2 == 0) return;
        row[n] = row[n - 1];  // rows go in pairs
        coef[n] = 0;
    }
    int64_t pairs() const { return (n + 1) / 2; }
};

/// The bytes of rows that will be read next.
struct Ahead {
    const Slab* slab;
    size_t begin;
    int64_t n_lines;  ///< of 64 bytes, per row

    Ahead(const Slab& of, size_t from, size_t to)
        : slab(&of), begin(from), n_lines(of.n > 0 && to > from ? static_cast<int64_t>((to - from) / 64) + 1 : 0) {}
    /// Asks for all lines of the rows from pair `first` on.
    void ask(int64_t first) const {
        for (int64_t r = 2 * first; r < slab->n; ++r) {
            for (int64_t i = 0; i < n_lines; ++i) ask_for(slab->row[r] + begin + 64 * i);
        }
    }
};

/// Rows of a format taken apart: the registers that Format::load gives for every step, then its scales and minima.
template <class W, class Format>
struct Prepared : Format {
    static constexpr int64_t kSteps = kPreparedColumns / (32 * W::kLanes);
    static constexpr int64_t kUnits = kPreparedColumns / Format::kGroup / 8;
    static constexpr size_t kRegister = sizeof(typename W::I);
    static constexpr size_t kScales = kSteps * Format::kRaw * kRegister;
    static constexpr size_t kMins = kScales + kUnits * 8 * sizeof(float);
    static constexpr size_t kRowBytes = (kMins + (Format::kHasMin ? kUnits * 8 * sizeof(float) : 0) + 63) / 64 * 64;

    KERNEL_INLINE static Eight::F scales(const uint8_t* row, int64_t unit, int64_t /*last*/, Eight::F& min) {
        const auto at = [&](size_t part) __attribute__((always_inline)) {
            return Eight::load(reinterpret_cast<const float*>(row + part) + 8 * unit);
        };
        if constexpr (Format::kHasMin) min = at(kMins);
        return at(kScales);
    }
    template <class>
    KERNEL_INLINE static void load(const uint8_t* row, int64_t step, int64_t /*last*/, typename W::I* raw) {
        for (int i = 0; i < Format::kRaw; ++i)
            raw[i] = W::load(row + (static_cast<size_t>(step) * Format::kRaw + static_cast<size_t>(i)) * kRegister);
    }
    static void prepare(const PrepareArgs& a) {
        constexpr int64_t kRowsAhead = 8;
        const size_t bytes = static_cast<size_t>(a.n / Format::kSize) * sizeof(typename Format::Block);
        const int64_t last = a.n / Format::kSize - 1;
        const int64_t n_steps = (a.n + 32 * W::kLanes - 1) / (32 * W::kLanes);
        const int64_t n_units = (a.n / Format::kGroup + 7) / 8;
        for (int64_t r = 0; r < a.n_rows; ++r) {
            const uint8_t* row = a.weights + static_cast<size_t>(r) * a.row_stride;
            uint8_t* out = a.dst + static_cast<size_t>(r) * kRowBytes;
            if (r + kRowsAhead < a.n_rows) {
                for (size_t at = 0; at < bytes + 63; at += 64) ask_for_soon(row + kRowsAhead * a.row_stride + at);
            }
            for (int64_t step = 0; step < n_steps; ++step) {
                const bool partial = (step + 1) * 32 * W::kLanes > a.n;
                typename W::I raw[Format::kRaw];
                Format::template load<W>(row, step, partial ? last : INT64_MAX, raw);
                for (int i = 0; i < Format::kRaw; ++i)
                    W::store(reinterpret_cast<int32_t*>(out + (static_cast<size_t>(step) * Format::kRaw + static_cast<size_t>(i)) * kRegister),
                             raw[i]);
            }
            for (int64_t unit = 0; unit < n_units; ++unit) {
                auto min = Eight::set(0.0f);
                Eight::store(reinterpret_cast<float*>(out + kScales) + 8 * unit, Format::scales(row, unit, last, min));
                if constexpr (Format::kHasMin) Eight::store(reinterpret_cast<float*>(out + kMins) + 8 * unit, min);
            }
        }
    }
};
/// Bytes that `columns` take in a row. Prepared rows are computed in one piece and lie in the cache: none is looked ahead.
template <class Format>
struct ColumnBytes {
    static size_t of(int64_t columns) {
        return static_cast<size_t>(columns / Format::kSize) * sizeof(typename Format::Block);
    }
};
template <class W, class Format>
struct ColumnBytes<Prepared<W, Format>> {
    static size_t of(int64_t /*columns*/) { return 0; }
};

template <class W, class Format>
class SlabSum {
  public:
    static void run(const AxpyArgs& a) {
        Slab slabs[2];
        SlabSum sum;
        int64_t r = 0;
        int current = 0;
        slabs[0].take(a, r);
        Ahead(slabs[0], 0, bytes(tile_of(slabs[0], a.n))).ask(0);
        while (slabs[current].n > 0) {
            const Slab& slab = slabs[current];
            Slab& next = slabs[1 - current];
            next.take(a, r);
            const int64_t tile = tile_of(slab, a.n);
            for (int64_t at = 0; at < a.n; at += tile) {
                const int64_t end = at + tile < a.n ? at + tile : a.n;
                const bool last = end == a.n;
                const Ahead ahead(last ? next : slab, last ? 0 : bytes(end),
                                  bytes(last ? tile_of(next, a.n) : (end + tile < a.n ? end + tile : a.n)));
                sum.add(slab, at, end, ahead, a.out);
            }
            current = 1 - current;
        }
    }

  private:
    using I = typename W::I;
    using F = typename W::F;
    static constexpr int L = W::kLanes;
    static constexpr int64_t kStep = 32 * L;  ///< columns

    static int64_t tile_of(const Slab& slab, int64_t n) {
        if (slab.n == 0) return 0;
        const int64_t groups = kTileCoefs / (2 * slab.pairs()) / 16 * 16;
        const int64_t columns = groups * Format::kGroup / 256 * 256;
        const int64_t tile = columns < kTileColumns ? columns : kTileColumns;
        return tile < n ? tile : n;
    }
    static size_t bytes(int64_t columns) {
        return ColumnBytes<Format>::of(columns);
    }

    /// out[at, end) += the slab's rows.
    void add(const Slab& slab, int64_t at, int64_t end, const Ahead& ahead, float* out) {
        n_groups_ = (end - at) / Format::kGroup;
        stride_ = (n_groups_ + 7) / 8 * 8;
        for (int64_t unit = 0; unit < stride_ / 8; ++unit)
            coefficients(slab, bytes(at), unit, (end - at) / Format::kSize - 1);
        multiply(slab, bytes(at), end - at, ahead);
        finish(out + at);
    }

    /// Eight groups: scale times coefficient for all rows, the largest of each group, the sum of the minima; then whole
    /// numbers. Eight wide for AVX-512 as well: scales come in eights.
    void coefficients(const Slab& slab, size_t at, int64_t unit, int64_t last_block) {
        auto min_sum = Eight::set(0.0f), min = min_sum;
        auto max_bits = Eight::set(0);
        const int64_t rows = 2 * slab.pairs();
        for (int64_t r = 0; r < rows; ++r) {
            const auto coef = Eight::set(slab.coef[r]);
            const auto x = Eight::mul(coef, Format::scales(slab.row[r] + at, unit, last_block, min));
            Eight::store(coef_ + 8 * r, x);
            // Magnitudes compared as bits, so that infinities and NaN are the largest.
            max_bits = Eight::max(max_bits, Eight::magnitude_bits(x));
            if (Format::kHasMin) min_sum = Eight::fma(coef, min, min_sum);
        }
        const auto max = Eight::as_float(max_bits);
        const auto usable = Eight::at_least(max, Eight::set(kAxpySmallest));
        const auto finite = Eight::above(Eight::set(0x7F800000), max_bits);
        const auto inverse =
            Eight::keep(finite, Eight::keep(usable, Eight::div(Eight::set(kAxpyLargest), max)));
        const auto scale = Eight::keep(usable, Eight::mul(max, Eight::set(1.0f / kAxpyLargest)));
        Eight::store(scale_ + 8 * unit, Eight::choose(finite, scale, Eight::set(__builtin_nanf(""))));
        Eight::store(min_sum_ + 8 * unit, min_sum);

        auto sum = Eight::set(0);
        int32_t* both = both_ + 8 * unit;
        for (int64_t r = 0; r < rows; r += 2, both += stride_) {
            const auto q0 = Eight::whole(Eight::mul(Eight::load(coef_ + 8 * r), inverse));
            const auto q1 = Eight::whole(Eight::mul(Eight::load(coef_ + 8 * r + 8), inverse));
            Eight::store_words(both, q0, q1);
            sum = Eight::add(sum, Eight::add(q0, q1));
        }
        Eight::store(of_zero_ + 8 * unit, Eight::mul(sum, Eight::set(Format::kZero)));
    }

    /// Codes times coefficients, summed over the rows: total_[column of the tile].
    void multiply(const Slab& slab, size_t at, int64_t n, const Ahead& ahead) {
        const int64_t n_steps = (n + kStep - 1) / kStep;
        for (int64_t step = 0; step < n_steps; ++step) {
            const int64_t line = ahead.n_lines * step / n_steps;
            const int64_t n_lines = ahead.n_lines * (step + 1) / n_steps - line;
            const size_t from = ahead.begin + static_cast<size_t>(64 * line);
            if ((step + 1) * kStep <= n) {
                add_step<false>(slab, at, step, n, *ahead.slab, from, n_lines);
            } else {
                add_step<true>(slab, at, step, n, *ahead.slab, from, n_lines);
            }
        }
        ahead.ask(slab.pairs());
    }

    template <bool partial>
    void add_step(const Slab& slab, size_t at, int64_t step, int64_t n, const Slab& next, size_t next_at,
                  int64_t n_lines) {
        constexpr int kRaw = Format::kRaw;
        // A partial step of one-block lanes reads its last block again in the lanes that are left over.
        const int64_t last_block = partial ? n / Format::kSize - 1 : INT64_MAX;
        const I index0 = group_index(0), index1 = group_index(1);
        const int32_t* both = both_ + Format::base(L, step) / Format::kGroup;
        const int64_t pairs = slab.pairs(), stride = stride_, next_pairs = next.pairs();
        Sums low_sums, high_sums;
        for (int64_t p = 0; p < pairs; ++p, both += stride) {
            I x[kRaw], y[kRaw], low[kRaw], high[kRaw];
            Format::template load<W>(slab.row[2 * p] + at, step, last_block, x);
            Format::template load<W>(slab.row[2 * p + 1] + at, step, last_block, y);
            for (int i = 0; i < kRaw; ++i) {
                low[i] = W::low_words(x[i], y[i]);
                high[i] = W::high_words(x[i], y[i]);
            }
            const I c0 = W::pick(both, index0), c1 = W::pick(both, index1);
            low_sums.add(low, c0, c1);
            high_sums.add(high, c0, c1);
            if (p < next_pairs) {
                for (int64_t i = 0; i < n_lines; ++i) {
                    ask_for(next.row[2 * p] + next_at + 64 * i);
                    ask_for(next.row[2 * p + 1] + next_at + 64 * i);
                }
            }
        }
        const auto put = [&](int plane, I low_even, I low_odd, I high_even, I high_odd) __attribute__((always_inline)) {
            int32_t* out[L];
            for (int k = 0; k < L; ++k) out[k] = total_ + Format::base(L, step) + Format::column(L, plane, k);
            W::store_columns(low_even, low_odd, high_even, high_odd, out);
        };
        const auto second = [](I sum, I first) __attribute__((always_inline)) {
            if (Format::kSecond == Second::as_is) return sum;
            return W::template sar32<4>(Format::kSecond == Second::plus_first ? W::sub(sum, first) : sum);
        };
        put(0, low_sums.even0, low_sums.odd0, high_sums.even0, high_sums.odd0);
        put(1, second(low_sums.even1, low_sums.even0), second(low_sums.odd1, low_sums.odd0),
            second(high_sums.even1, high_sums.even0), second(high_sums.odd1, high_sums.odd0));
    }

    /// Sums of even and odd bytes of both planes.
    struct Sums {
        I even0 = W::zero(), odd0 = W::zero(), even1 = W::zero(), odd1 = W::zero();
        KERNEL_INLINE void add(const I raw[Format::kRaw], I c0, I c1) {
            const I even = W::set(0x00FF00FF);
            I first, second;
            Format::template planes<W>(raw, first, second);
            even0 = W::dot(even0, W::and_(first, even), c0);
            odd0 = W::dot(odd0, W::template shr16<8>(first), c0);
            even1 = W::dot(even1, W::and_(second, even), c1);
            odd1 = W::dot(odd1, W::template shr16<8>(second), c1);
        }
    };

    /// Which group of a step each 32-bit element of a plane belongs to.
    static I group_index(int plane) {
        alignas(64) int32_t index[4 * L];
        for (int i = 0; i < 4 * L; ++i) index[i] = Format::column(L, plane, i / 4) / Format::kGroup;
        return W::load(index);
    }

    void finish(float* out) const {
        for (int64_t g = 0; g < n_groups_; ++g) {
            const F scale = W::set(scale_[g]), min = W::set(min_sum_[g]);
            const I zero = W::set(of_zero_[g]);
            for (int64_t i = g * Format::kGroup; i < (g + 1) * Format::kGroup; i += W::kFloats) {
                const F total = W::to_float(W::sub(W::load(total_ + i), zero));
                const F y = W::load(out + i);
                W::store(out + i, Format::kHasMin ? W::add(y, W::fma(scale, total, min)) : W::fma(scale, total, y));
            }
        }
    }

    int64_t n_groups_ = 0, stride_ = 0;  ///< groups of the tile, and rounded up to whole eights
    alignas(64) float coef_[8 * (kAxpySlab + 1)];    ///< [row][8]
    alignas(64) int32_t both_[kTileCoefs / 2 + 16];  ///< [pair][stride_] two whole coefficients
    alignas(64) float scale_[kMaxGroups], min_sum_[kMaxGroups];
    alignas(64) int32_t of_zero_[kMaxGroups];        ///< what the zero of the codes adds to every column
    alignas(64) int32_t total_[kTileColumns + kStep];
};

template <class W, class Format>
void add_slab_axpy(Ops& ops, DType type) {
    using Rows = Prepared<W, Format>;
    ops.axpy[static_cast<size_t>(type)] = SlabSum<W, Format>::run;
    ops.prepared_axpy[static_cast<size_t>(type)] = {Rows::kRowBytes, Rows::prepare, SlabSum<W, Rows>::run};
}

template <class W>
void add_slab_axpys(Ops& ops) {
    add_slab_axpy<W, SlabQ4_0>(ops, DType::Q4_0);
    add_slab_axpy<W, SlabQ4_1>(ops, DType::Q4_1);
    add_slab_axpy<W, SlabQ5_0>(ops, DType::Q5_0);
    add_slab_axpy<W, SlabQ5_1>(ops, DType::Q5_1);
    add_slab_axpy<W, SlabQ8_0>(ops, DType::Q8_0);
    add_slab_axpy<W, SlabQ2_K>(ops, DType::Q2_K);
    add_slab_axpy<W, SlabQ3_K>(ops, DType::Q3_K);
    add_slab_axpy<W, SlabQ4_K>(ops, DType::Q4_K);
    add_slab_axpy<W, SlabQ5_K>(ops, DType::Q5_K);
    add_slab_axpy<W, SlabQ6_K>(ops, DType::Q6_K);
    add_slab_axpy<W, SlabIQ4_NL>(ops, DType::IQ4_NL);
    add_slab_axpy<W, SlabIQ4_XS>(ops, DType::IQ4_XS);
    add_slab_axpy<W, SlabMXFP4>(ops, DType::MXFP4);
    add_slab_axpy<W, SlabTQ1_0>(ops, DType::TQ1_0);
    add_slab_axpy<W, SlabTQ2_0>(ops, DType::TQ2_0);
}

}  // namespace
}  // namespace powerinfer::kernels
