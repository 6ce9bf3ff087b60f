#include "tools/prompt_cache.h"

#include <powerinfer/version.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "base/error.h"
#include "base/file_writer.h"
#include "base/hash.h"
#include "base/mapped_file.h"

namespace powerinfer::tools {
namespace {

constexpr char kMagic[] = "PWRICACH";
constexpr uint32_t kVersion = 1;
constexpr size_t kMagicBytes = 8;
constexpr size_t kSampleBytes = 4096;  ///< of each end and the middle of a tensor: whole files would take seconds to hash

struct Head {
    char magic[kMagicBytes];
    uint32_t version, n_tokens;
    uint64_t fingerprint;
};

class Hasher {
  public:
    void add(const void* data, size_t size) { hash_ = fnv1a(data, size, hash_); }
    void add(std::string_view text) { add(text.data(), text.size()), add(text.size()); }
    template <class T>
        requires std::is_arithmetic_v<T> || std::is_enum_v<T>
    void add(T value) {
        add(&value, sizeof value);
    }
    uint64_t value() const { return hash_; }

  private:
    uint64_t hash_ = fnv1a("", 0);
};

void add_key(Hasher& h, const std::string& key, const formats::GgufValue& value) {
    h.add(std::string_view(key));
    if (const auto* b = std::get_if<bool>(&value.data)) h.add(*b);
    if (const auto* i = std::get_if<int64_t>(&value.data)) h.add(*i);
    if (const auto* u = std::get_if<uint64_t>(&value.data)) h.add(*u);
    if (const auto* d = std::get_if<double>(&value.data)) h.add(*d);
    if (const auto* s = std::get_if<std::string>(&value.data)) h.add(std::string_view(*s));
}

void add_tensor(Hasher& h, const formats::GgufTensor& t) {
    h.add(std::string_view(t.name));
    h.add(t.view.type);
    for (const int64_t n : t.view.ne) h.add(n);
    const auto* data = static_cast<const uint8_t*>(t.view.data);
    const size_t size = t.view.n_bytes(), n = std::min(size, kSampleBytes);
    for (const size_t begin : {size_t{0}, (size - n) / 2, size - n}) h.add(data + begin, n);
}

}  // namespace

uint64_t state_fingerprint(const model::Model& model, const engine::Engine& engine) {
    Hasher h;
    h.add(std::string_view(POWERINFER_VERSION));
    h.add(engine.isa());
    h.add(engine.plan().kv_type);
    h.add(engine.plan().mode);
    const model::ModelSpec& s = model.spec;
    h.add(s.activation);
    for (int i = 0; i < s.n_layer; ++i) h.add(s.predictor.threshold_of(i));
    const model::Rope& r = s.rope;
    h.add(r.scaling);
    for (const float x : {r.freq_base, r.factor, r.yarn_ext_factor, r.yarn_attn_factor, r.yarn_beta_fast, r.yarn_beta_slow}) h.add(x);
    h.add(r.n_ctx_original);
    for (const auto& [key, value] : model.file->keys()) add_key(h, key, value);
    for (const formats::GgufTensor& t : model.file->tensors()) add_tensor(h, t);
    return h.value();
}

std::vector<int32_t> read_prompt_cache(const std::string& path, engine::Engine& engine, uint64_t fingerprint) {
    if (!std::filesystem::exists(path)) return {};
    const MappedFile file(path);
    std::span<const uint8_t> left = file.bytes();
    const auto damaged = [&](std::string_view what) {
        fail(ErrorKind::bad_file, "the prompt cache '{}' {}; remove it or name another", path, what);
    };
    Head head;
    if (left.size() < sizeof head + sizeof(uint64_t)) damaged("is cut short");
    std::memcpy(&head, left.data(), sizeof head);
    if (std::memcmp(head.magic, kMagic, kMagicBytes) != 0) damaged("is no prompt cache of this program");
    if (head.version != kVersion || head.fingerprint != fingerprint)
        damaged("was made with another model, other settings or another version");
    uint64_t sum;
    std::memcpy(&sum, left.data() + left.size() - sizeof sum, sizeof sum);
    if (fnv1a(left.data(), left.size() - sizeof sum) != sum) damaged("is damaged: its checksum is wrong");
    left = left.subspan(sizeof head, left.size() - sizeof head - sizeof sum);
    if (head.n_tokens > left.size() / sizeof(int32_t)) damaged("is cut short");
    if (head.n_tokens > static_cast<uint64_t>(engine.plan().n_ctx))
        fail(ErrorKind::bad_argument, "the prompt cache '{}' holds {} tokens, the context has {}; --ctx-size gives more", path,
             head.n_tokens, engine.plan().n_ctx);
    std::vector<int32_t> tokens(head.n_tokens);
    const auto take = [&](std::span<uint8_t> out) {
        if (out.size() > left.size()) damaged("is cut short");
        std::copy_n(left.begin(), out.size(), out.begin());
        left = left.subspan(out.size());
    };
    take({reinterpret_cast<uint8_t*>(tokens.data()), tokens.size() * sizeof(int32_t)});
    engine.restore(0, static_cast<int>(tokens.size()), take);
    if (!left.empty()) {
        engine.truncate(0, 0);
        damaged("is longer than it should be");
    }
    return tokens;
}

void write_prompt_cache(const std::string& path, const engine::Engine& engine, uint64_t fingerprint,
                        std::span<const int32_t> tokens) {
    FileWriter file(path);
    Hasher sum;
    const auto write = [&](const void* data, size_t size) {
        file.write(data, size);
        sum.add(data, size);
    };
    Head head = {{}, kVersion, static_cast<uint32_t>(tokens.size()), fingerprint};
    std::memcpy(head.magic, kMagic, kMagicBytes);
    write(&head, sizeof head);
    write(tokens.data(), tokens.size_bytes());
    for (const std::span<const uint8_t> piece : engine.cached(0, static_cast<int>(tokens.size())))
        write(piece.data(), piece.size());
    const uint64_t value = sum.value();
    file.write(&value, sizeof value);
    file.commit();
}

}  // namespace powerinfer::tools
