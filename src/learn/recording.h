// What the feed-forwards of a model read and made over a text, kept on disk for making predictors: one file
// per layer, written in bounded memory, resumable, read back in blocks of tokens. Not a format to exchange:
// files are for the machine that made them.
//
// FOLDER/layer_N.rec, little-endian:
//   magic "PIREC" 0 0 1 | fingerprint u64 | run u64 (hash of text, windows, weight formats and activation)
//   layer u32 | n_layer u32 | n_embd u32 | n_ff u32 | window u32 | x type u32 (GGUF type id) | values u32 | 0
//   u32 n_tokens u64 then for every window of the text:  x [tokens][n_embd] | values [tokens][n_ff as F16, or
//   (n_ff + 7) / 8 bytes of bits]
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/log.h"
#include "base/mapped_file.h"
#include "learn/text_run.h"
#include "model/model.h"

namespace powerinfer::learn {

enum class RecordedValues : uint32_t {
    h = 0,  ///< what the down projection reads, as F16; exactly zero where a neuron did not fire, and only
            ///< there
    fired = 1,  ///< one bit per neuron, 16 times smaller
};

struct RecordingOptions {
    DType x_type = DType::F16;  ///< F16 or F32
    RecordedValues values = RecordedValues::h;
};

/// What all files of one recording agree on.
struct RecordingShape {
    uint64_t fingerprint = 0, run = 0;
    int n_layer = 0, n_embd = 0, n_ff = 0, window = 0;
    DType x_type = DType::F16;
    RecordedValues values = RecordedValues::h;
    int64_t n_tokens = 0;

    bool operator==(const RecordingShape&) const = default;
    /// Of one layer's file with the first n tokens, n a multiple of the window or all of them.
    uint64_t file_bytes(int64_t n) const;
};

/// Records every token of the text into `folder`, which is made where it is missing. Goes on where an
/// earlier, stopped run of the same model, text and options left off, and does nothing where that was
/// complete. Throws Error{bad_argument} where the folder holds a recording of something else.
void record_text(const std::string& folder, std::shared_ptr<const model::Model> model, const Text& text,
                 const RecordingOptions& options, int n_threads, const Progress& progress = {});

/// One layer of a complete recording. Tokens are numbered through the whole text.
class LayerRecording {
  public:
    /// Throws Error{bad_file | io} naming the file where it is damaged or not complete.
    static LayerRecording open(const std::string& folder, int layer);

    const RecordingShape& shape() const { return shape_; }
    int64_t n_tokens() const { return shape_.n_tokens; }

    /// out [n][n_embd]: residuals before the FFN norm. Tokens [first, first + n) must be there.
    void read_x(int64_t first, int64_t n, float* out) const;
    /// out [n][n_ff]: h, or 1 and 0 where only firing was recorded.
    void read_values(int64_t first, int64_t n, float* out) const;
    /// out [n][n_ff]: 1 where the neuron fired.
    void read_fired(int64_t first, int64_t n, uint8_t* out) const;
    /// Lets go of the memory behind the file, which comes back from disk when it is read again.
    void release() const;

  private:
    const uint8_t* x_row(int64_t token) const;
    const uint8_t* value_row(int64_t token) const;

    MappedFile file_;
    RecordingShape shape_;
};

}  // namespace powerinfer::learn
