// The steps from a file name to an engine, with the options of the command line filled in. Each step of the flow
// file -> model -> plan -> engine is one call, so that the commands read like that line.
#pragma once

#include <memory>

#include "base/log.h"
#include "engine/engine.h"
#include "formats/gguf.h"
#include "model/model.h"
#include "plan/plan.h"
#include "tools/arguments.h"

namespace powerinfer::tools {

/// The file with the overrides of --override-kv. Throws Error{bad_argument} where no model was given. Pins the pages if
/// asked to, with a warning where that fails.
std::shared_ptr<const formats::GgufFile> open_file(const Arguments& a, const LogSink& log);

/// The model with the overrides of the command line and of LLAMA_SPARSE_PRED_THRESHOLD.
std::shared_ptr<const model::Model> load_model(std::shared_ptr<const formats::GgufFile> file, const Arguments& a,
                                               const LogSink& log);

/// Memory that weights re-laid for speed may take: what the machine has to spare, or nothing with --no-repack or --mlock.
uint64_t repack_allowance(const ModelArgs& m);

/// Memory and context as asked for. A context that nobody asked for is what the model was trained with, or less
/// where the machine's free memory is short.
plan::Budget budget(const Arguments& a, const model::Model& model, const LogSink& log);

/// Rates of this machine's kernels where layers can be chosen by them: in mode automatic, for a file that says how many
/// neurons fire. Else none, and nothing is measured.
plan::RatesByType rates_for(const model::Model& model, sparsity::Mode mode, int n_threads, const std::string& isa,
                            const LogSink& log);

engine::EngineOptions engine_options(const Arguments& a);

/// Tells the log how the plan came out.
plan::Plan announced(plan::Plan plan, const LogSink& log);

}  // namespace powerinfer::tools
