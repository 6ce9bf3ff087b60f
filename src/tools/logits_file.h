// The file in which one model's answers are kept for comparison with another's (`--kl-divergence-base`).
//
//   "_logits_"   n_ctx u32   n_vocab i32   n_windows i32   tokens i32 [n_windows * n_ctx]
//   per scored token, n_ctx - 1 - n_ctx/2 of them per window:
//     scale f32 | lowest f32 | q u16 [n_vocab, made even]        ln p = lowest + scale * q
//
// Probabilities more than e^-16 below the best are stored as that much. Source: the tool of the same flag.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/file_writer.h"
#include "base/mapped_file.h"

namespace powerinfer::tools {

class LogitsFileWriter {
  public:
    LogitsFileWriter(const std::string& path, int n_ctx, int n_vocab, std::span<const int32_t> tokens);
    /// logits: [n_vocab] of the next scored token.
    void add(std::span<const float> logits);
    void finish() { file_.commit(); }

  private:
    FileWriter file_;
    std::vector<uint16_t> row_;
};

class LogitsFileReader {
  public:
    /// Throws Error{bad_file} where the file is not what it claims to be.
    explicit LogitsFileReader(const std::string& path);

    int n_ctx() const { return n_ctx_; }
    int n_vocab() const { return n_vocab_; }
    int n_windows() const { return n_windows_; }
    std::span<const int32_t> tokens() const { return tokens_; }
    /// ln p [n_vocab] of the i-th scored token of the file. Valid until the next call.
    std::span<const float> log_probs(int64_t i);

  private:
    MappedFile file_;
    int n_ctx_ = 0, n_vocab_ = 0, n_windows_ = 0;
    std::vector<int32_t> tokens_;
    std::vector<float> row_;
    size_t data_ = 0, row_bytes_ = 0;
};

}  // namespace powerinfer::tools
