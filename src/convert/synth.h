// Writes a random model of any shape with a chosen activation sparsity, for benchmarks.
// The text it produces means nothing; its speed and its sparsity are those of a real model of that shape.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/dtype.h"
#include "base/log.h"
#include "convert/file_type.h"

namespace powerinfer::convert {

/// `general.name` of the models made here.
inline constexpr std::string_view kSynthName = "synthetic";

struct SynthShape {
    int n_vocab = 32000, n_embd = 4096, n_layer = 32, n_ff = 11008, n_head = 32, n_head_kv = 32, n_ctx = 4096;

    int head_dim() const { return n_embd / n_head; }
};

/// A named shape ("llama-7b", "mistral-7b", ...), optionally followed by changes: "llama-7b,n_layer=8,n_ff=4096".
/// Throws Error{bad_argument} naming what is not understood and listing the names.
SynthShape synth_shape(std::string_view text);

struct SynthOptions {
    SynthShape shape;
    DType type = DType::Q4_0;            ///< of all matrices
    const FileType* mix = nullptr;       ///< or a mixture such as Q4_K_M, as `quantize` would choose the types
    bool predictors = true;              ///< PWRI with predictors and a transposed down projection; else plain GGUF
    DType predictor_type = DType::Q4_0;
    int rank = 1024;                     ///< of the predictors: even, at least 4
    double active_share = 0.1;           ///< mean share of neurons that fire for a token
    uint32_t seed = 1;
    int n_threads = 0;                   ///< 0 = one per physical core
};

/// About how large the file will be.
uint64_t synth_bytes(const SynthOptions& options);
/// Throws Error{io} where the disk that `path` lies on has not even the room for the weights, before minutes of work.
void require_space(const std::string& path, const SynthOptions& options);

/// How it is made: column 0 of the embedding is a constant that no layer writes to, so it carries a bias. The gate is
/// A B + bias e0 with B [r, n_embd], r = rank / 2 - 1, and the predictor is fc1 = [B; -B; e0; -e0],
/// fc2 = [A, -A, bias, -bias], so that fc2 . relu(fc1 . x) equals the gate's pre-activation up to the positive factor
/// of the norm: exact in F32 for the threshold 0, near-exact when quantised (the threshold is then slightly negative, and
/// stored). The biases follow a power law of firing frequencies, hottest near 1, with an exponent of each layer's own, in
/// random neuron order. Token vectors of neighbouring ids are correlated (0.7), so a stream of neighbouring ids has
/// overlapping active sets, as neighbouring words of a text have.
void write_synth(const std::string& path, const SynthOptions& options, const LogSink& log = {},
                 const Progress& progress = {});

}  // namespace powerinfer::convert
