#include "engine/layout_cache.h"

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "base/error.h"
#include "base/hash.h"

namespace powerinfer::engine {
namespace {

using formats::GgufFile;
using formats::GgufValue;

constexpr uint32_t kVersion = 1;
constexpr std::string_view kArchitecture = "powerinfer-layout";
const std::string kVersionKey = "powerinfer.layout.version", kSourcesKey = "powerinfer.layout.sources";

std::string entry_name(std::string_view layout, std::string_view name) {
    return fmt::format("{}/{}", name, layout);
}

uint64_t source_hash(const TensorView& source) {
    return sampled_hash(source, fnv1a(nullptr, 0));
}

}  // namespace

LayoutCache::LayoutCache(std::string path, const LogSink& log) : path_(std::move(path)), log_(log) {
    if (!std::filesystem::exists(path_)) return;
    try {
        open();
    } catch (const Error& e) {
        file_.reset();
        held_.clear();
        powerinfer::log(log_, LogLevel::warning, "the kept layout is not usable and will be made anew: {}", e.what());
    }
}

void LayoutCache::open() {
    file_.emplace(GgufFile::open(path_));
    const uint64_t version = file_->get_uint(kVersionKey);
    if (version != kVersion)
        fail(ErrorKind::unsupported, "'{}' has layout version {}, expected {}", path_, version, kVersion);
    const GgufValue* value = file_->find(kSourcesKey);
    const auto* sources = value ? std::get_if<std::vector<uint64_t>>(&value->data) : nullptr;
    if (!sources || sources->size() != file_->tensors().size())
        fail(ErrorKind::bad_file, "'{}' must have one number per tensor in {}", path_, kSourcesKey);
    for (size_t i = 0; i < sources->size(); ++i) {
        const formats::GgufTensor& t = file_->tensors()[i];
        held_.push_back({t.name, (*sources)[i], static_cast<const uint8_t*>(t.view.data), t.view.n_bytes()});
    }
}

bool LayoutCache::take(std::string_view layout, const TensorView& source, std::string_view name, AlignedBuffer& memory,
                       ThreadPool& pool) {
    constexpr size_t kPiece = size_t{1} << 20;
    const auto found = std::find_if(held_.begin(), held_.end(), [wanted = entry_name(layout, name)](const Entry& e) {
        return e.name == wanted;
    });
    if (found == held_.end()) return false;
    if (found->size != memory.size() || found->source != source_hash(source)) {
        held_.erase(found);  // of another model
        return false;
    }
    pool.for_each(static_cast<int64_t>((found->size + kPiece - 1) / kPiece), 1, [&](int64_t piece, int64_t) {
        const size_t at = static_cast<size_t>(piece) * kPiece;
        std::memcpy(memory.data() + at, found->data + at, std::min(kPiece, found->size - at));
    });
    file_->release({found->data, DType::I8, {static_cast<int64_t>(found->size), 1, 1, 1}});
    return true;
}

void LayoutCache::keep(std::string_view layout, const TensorView& source, std::string_view name, const AlignedBuffer& memory) {
    made_.push_back({entry_name(layout, name), source_hash(source), memory.data(), memory.size()});
}

void LayoutCache::save(const Progress& progress) {
    constexpr size_t kPiece = size_t{16} << 20;
    if (made_.empty()) return;
    std::vector<Entry> all = held_;
    all.insert(all.end(), made_.begin(), made_.end());
    uint64_t total = 0, written = 0;
    for (const Entry& e : all) total += e.size;
    try {
        formats::GgufWriter out(path_, formats::GgufMagic::gguf);
        GgufValue sources;
        sources.type = formats::GgufType::array;
        sources.element = formats::GgufType::u64;
        std::vector<uint64_t> numbers;
        for (const Entry& e : all) numbers.push_back(e.source);
        sources.data = std::move(numbers);
        out.set("general.architecture", GgufValue::of_string(std::string(kArchitecture)));
        out.set(kVersionKey, GgufValue::of_u32(kVersion));
        out.set(kSourcesKey, std::move(sources));
        for (const Entry& e : all) out.add_tensor(e.name, DType::I8, {static_cast<int64_t>(e.size), 1, 1, 1});
        out.begin_data();
        for (const Entry& e : all) {
            for (size_t at = 0; at < e.size; at += kPiece) {
                report(progress, static_cast<double>(written) / static_cast<double>(total), "writing the layout");
                const size_t n = std::min(kPiece, e.size - at);
                out.write(e.data + at, n);
                written += n;
            }
        }
        out.finish();
        powerinfer::log(log_, LogLevel::info, "kept {:.1f} MiB of re-laid weights in '{}'",
                        static_cast<double>(total) / (1 << 20), path_);
    } catch (const Error& e) {
        if (e.kind() == ErrorKind::cancelled) throw;
        powerinfer::log(log_, LogLevel::warning, "the layout cannot be kept: {}", e.what());
    }
    made_.clear();
}

}  // namespace powerinfer::engine
