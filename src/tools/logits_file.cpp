#include "tools/logits_file.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.h"

namespace powerinfer::tools {
namespace {

constexpr char kMagic[] = "_logits_";
constexpr size_t kHeader = 8 + 3 * sizeof(int32_t);
constexpr size_t kPrefix = 2 * sizeof(float) / sizeof(uint16_t);  ///< u16 places that scale and lowest take

size_t row_values(int n_vocab) { return kPrefix + (static_cast<size_t>(n_vocab) + 1) / 2 * 2; }

}  // namespace

LogitsFileWriter::LogitsFileWriter(const std::string& path, int n_ctx, int n_vocab, std::span<const int32_t> tokens)
    : file_(path), row_(row_values(n_vocab)) {
    const int32_t counts[] = {n_ctx, n_vocab, static_cast<int32_t>(tokens.size()) / n_ctx};
    file_.write(kMagic, 8);
    file_.write(counts, sizeof counts);
    file_.write(tokens.data(), tokens.size_bytes());
}

void LogitsFileWriter::add(std::span<const float> logits) {
    const auto [low, high] = std::minmax_element(logits.begin(), logits.end());
    const float max = *high, min = std::max(*low, max - 16);
    double sum = 0;
    for (const float x : logits) sum += std::exp(static_cast<double>(x - max));
    const float lowest = min - max - static_cast<float>(std::log(sum)), scale = (max - min) / 65535.0f;
    std::memcpy(row_.data(), &scale, sizeof scale);
    std::memcpy(row_.data() + kPrefix / 2, &lowest, sizeof lowest);
    for (size_t i = 0; i < logits.size(); ++i)
        row_[kPrefix + i] = logits[i] > min && scale > 0
                                ? static_cast<uint16_t>(std::lround(std::min((logits[i] - min) / scale, 65535.0f)))
                                : uint16_t{0};
    file_.write(row_.data(), row_.size() * sizeof(uint16_t));
}

LogitsFileReader::LogitsFileReader(const std::string& path) : file_(path) {
    const std::span<const uint8_t> bytes = file_.bytes();
    if (bytes.size() < kHeader || std::memcmp(bytes.data(), kMagic, 8) != 0)
        fail(ErrorKind::bad_file, "'{}' is no file of logits: it does not begin with {}", path, kMagic);
    int32_t counts[3];
    std::memcpy(counts, bytes.data() + 8, sizeof counts);
    const auto [n_ctx, n_vocab, n_windows] = counts;
    if (n_ctx < 2 || n_vocab < 1 || n_windows < 1 || n_ctx > (1 << 24) || n_vocab > (1 << 24))
        fail(ErrorKind::bad_file, "'{}' claims {} windows of {} tokens and a vocabulary of {}", path, n_windows, n_ctx,
             n_vocab);
    n_ctx_ = n_ctx;
    n_vocab_ = n_vocab;
    n_windows_ = n_windows;
    row_bytes_ = row_values(n_vocab) * sizeof(uint16_t);
    const uint64_t n_tokens = static_cast<uint64_t>(n_windows) * static_cast<uint64_t>(n_ctx);
    const uint64_t n_rows = static_cast<uint64_t>(n_windows) * static_cast<uint64_t>(n_ctx - 1 - n_ctx / 2);
    const uint64_t left = bytes.size() - kHeader;
    if (n_tokens > left / 4 || n_rows != (left - n_tokens * 4) / row_bytes_ ||
        (left - n_tokens * 4) % row_bytes_ != 0)
        fail(ErrorKind::bad_file, "'{}' has {} bytes, which is not what {} windows of {} tokens need", path,
             bytes.size(), n_windows, n_ctx);
    tokens_.resize(n_tokens);
    std::memcpy(tokens_.data(), bytes.data() + kHeader, n_tokens * 4);
    data_ = kHeader + n_tokens * 4;
    row_.resize(static_cast<size_t>(n_vocab));
}

std::span<const float> LogitsFileReader::log_probs(int64_t i) {
    const uint8_t* p = file_.bytes().data() + data_ + static_cast<size_t>(i) * row_bytes_;
    float scale, lowest;
    std::memcpy(&scale, p, sizeof scale);
    std::memcpy(&lowest, p + sizeof scale, sizeof lowest);
    for (size_t k = 0; k < row_.size(); ++k) {
        uint16_t q;
        std::memcpy(&q, p + 2 * sizeof(float) + k * sizeof q, sizeof q);
        row_[k] = lowest + scale * static_cast<float>(q);
    }
    return row_;
}

}  // namespace powerinfer::tools
