// --prompt-cache: keys and values of a prompt kept in a file, so that the next run need not compute them.
//
//   magic "PWRICACH"    version u32 = 1    n_tokens u32    fingerprint u64
//   n_tokens x i32 ids | the pieces of Engine::cached | FNV-1a u64 of all before
//
// Not portable: the fingerprint covers the model's weights and settings, the number format of the cache, the sparsity
// mode, the instruction set and the version of this program.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/engine.h"

namespace powerinfer::tools {

uint64_t state_fingerprint(const model::Model& model, const engine::Engine& engine);

/// Fills sequence 0 and returns its tokens; none where there is no such file. Throws Error{bad_file} where it is damaged
/// or the work of another model, and Error{bad_argument} where it does not fit the context.
std::vector<int32_t> read_prompt_cache(const std::string& path, engine::Engine& engine, uint64_t fingerprint);

/// Keeps the first tokens of sequence 0. The file appears under its name only when complete.
void write_prompt_cache(const std::string& path, const engine::Engine& engine, uint64_t fingerprint,
                        std::span<const int32_t> tokens);

}  // namespace powerinfer::tools
