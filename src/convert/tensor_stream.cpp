#include "convert/tensor_stream.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "quant/format.h"

namespace powerinfer::convert {
namespace {

constexpr int64_t kChunkElements = 1 << 22;  // held in memory at a time: 16 MiB as floats
constexpr int64_t kPieceElements = 1 << 16;  // handed to one thread at a time

constexpr int64_t kNoRow = std::numeric_limits<int64_t>::max();

void lower(std::atomic<int64_t>& smallest, int64_t row) {
    int64_t seen = smallest.load();
    while (row < seen && !smallest.compare_exchange_weak(seen, row)) {
    }
}

/// The first row that holds NaN or infinity, or kNoRow.
int64_t first_bad_row(const float* values, int64_t n_rows, int64_t n) {
    for (int64_t r = 0; r < n_rows; ++r) {
        // The sum of x * 0 is zero exactly when every x is finite, and the loop vectorises.
        float sum = 0;
        for (int64_t i = 0; i < n; ++i) sum += values[r * n + i] * 0.0f;
        if (!(sum == 0.0f)) return r;
    }
    return kNoRow;
}

class TensorStream {
  public:
    TensorStream(formats::GgufWriter& writer, ThreadPool& pool, const Progress& progress, double n_total)
        : writer_(writer), pool_(pool), progress_(progress), n_total_(n_total) {}

    void write(const TensorJob& job) {
        if (!job.open || job.ne[0] * job.n_rows() == 0) {
            report(progress_, share(), job.name);
            write_bytes(job);
            n_done_ += static_cast<double>(job.ne[0]) * static_cast<double>(job.n_rows());
            return;
        }
        const RowSource source = job.open();
        const int64_t n = job.ne[0], chunk = std::max<int64_t>(1, kChunkElements / n);
        for (int64_t first = 0; first < job.n_rows(); first += chunk) {
            report(progress_, share(), job.name);
            write_rows(job, source, first, std::min(chunk, job.n_rows() - first));
            n_done_ += static_cast<double>(n) * static_cast<double>(std::min(chunk, job.n_rows() - first));
        }
    }

  private:
    double share() const { return n_total_ > 0 ? n_done_ / n_total_ : 1.0; }

    void write_bytes(const TensorJob& job) {
        if (job.row_order.empty()) return writer_.write(job.verbatim.data(), job.verbatim.size());
        const size_t row = row_bytes(job.type, job.ne[0]);
        for (const int32_t r : job.row_order) writer_.write(job.verbatim.data() + static_cast<size_t>(r) * row, row);
    }

    void write_rows(const TensorJob& job, const RowSource& source, int64_t first, int64_t count) {
        const quant::Format& format = quant::format(job.type);
        const int64_t n = job.ne[0];
        const size_t row = row_bytes(job.type, n);
        const bool copies = !job.verbatim.empty();
        values_.resize(static_cast<size_t>(count * n));
        const bool reorders = copies && !job.row_order.empty();
        if (!copies || reorders) encoded_.resize(static_cast<size_t>(count) * row);

        std::atomic<int64_t> bad_input{kNoRow}, bad_output{kNoRow};
        pool_.for_each(count, std::max<int64_t>(1, kPieceElements / n), [&](int64_t begin, int64_t end) {
            float* values = values_.data() + begin * n;
            source(first + begin, first + end, values);
            int64_t bad = first_bad_row(values, end - begin, n);
            if (bad != kNoRow) return lower(bad_input, first + begin + bad);
            if (copies) return;
            uint8_t* encoded = encoded_.data() + static_cast<size_t>(begin) * row;
            format.encode(values, encoded, (end - begin) * n, nullptr);
            format.decode(encoded, values, (end - begin) * n);
            bad = first_bad_row(values, end - begin, n);
            if (bad != kNoRow) lower(bad_output, first + begin + bad);
        });
        if (bad_input.load() != kNoRow)
            fail(ErrorKind::bad_file, "tensor {} holds NaN or infinity in row {}; the weights are damaged",
                 job.origin, bad_input.load());
        if (bad_output.load() != kNoRow)
            fail(ErrorKind::bad_file,
                 "tensor {} holds a value in row {} that is too large for the type {}; use BF16 or F32",
                 job.origin, bad_output.load(), info(job.type).name);
        for (int64_t r = 0; reorders && r < count; ++r)
            std::memcpy(encoded_.data() + static_cast<size_t>(r) * row,
                        job.verbatim.data() + static_cast<size_t>(job.row_order[static_cast<size_t>(first + r)]) * row, row);
        if (copies && !reorders)
            writer_.write(job.verbatim.data() + static_cast<size_t>(first) * row,
                          static_cast<size_t>(count) * row);
        else
            writer_.write(encoded_.data(), encoded_.size());
    }

    formats::GgufWriter& writer_;
    ThreadPool& pool_;
    const Progress& progress_;
    double n_done_ = 0, n_total_;
    std::vector<float> values_;
    std::vector<uint8_t> encoded_;
};

}  // namespace

void write_tensors(formats::GgufWriter& writer, const std::vector<TensorJob>& jobs, ThreadPool& pool,
                   const Progress& progress, const std::function<void(size_t job)>& before) {
    double n_total = 0;
    for (const TensorJob& job : jobs) {
        writer.add_tensor(job.name, job.type, job.ne);
        n_total += static_cast<double>(job.ne[0]) * static_cast<double>(job.n_rows());
    }
    writer.begin_data();
    TensorStream stream(writer, pool, progress, n_total);
    for (size_t i = 0; i < jobs.size(); ++i) {
        if (before) before(i);
        stream.write(jobs[i]);
    }
    report(progress, 1.0, "checking the file");
}

}  // namespace powerinfer::convert
