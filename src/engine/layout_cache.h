// Re-laid weights kept in a file beside the model, so that the next load copies them instead of making them again. A GGUF
// file with one I8 tensor per buffer; it is only ever a copy of what the model holds, so a file that does not fit is made
// anew.
//
//   general.architecture       "powerinfer-layout"
//   powerinfer.layout.version  u32   1; changes with any of the layouts
//   powerinfer.layout.sources  array of u64, per tensor: sampled_hash() of the model's tensor that the bytes come from
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/aligned.h"
#include "base/log.h"
#include "base/tensor.h"
#include "base/thread_pool.h"
#include "formats/gguf.h"

namespace powerinfer::engine {

class LayoutCache {
  public:
    /// Looks for the file. One that is damaged or of another version is named in the log and counts as missing.
    LayoutCache(std::string path, const LogSink& log);

    /// Fills `memory` with what is kept of `source` in the layout called `layout`; false when there is nothing that fits.
    bool take(std::string_view layout, const TensorView& source, std::string_view name, AlignedBuffer& memory, ThreadPool& pool);
    /// Says that `memory`, which must stay where it is until save(), belongs into the file.
    void keep(std::string_view layout, const TensorView& source, std::string_view name, const AlignedBuffer& memory);
    /// Writes the file if anything was kept that it does not hold; what it held of other layouts stays in it. A folder
    /// or disk that does not take it is named in the log: the weights are there all the same.
    void save(const Progress& progress);

  private:
    struct Entry {
        std::string name;  ///< of the tensor in the file
        uint64_t source;
        const uint8_t* data;
        size_t size;
    };
    void open();

    std::string path_;
    const LogSink& log_;
    std::optional<formats::GgufFile> file_;
    std::vector<Entry> held_, made_;
};

}  // namespace powerinfer::engine
