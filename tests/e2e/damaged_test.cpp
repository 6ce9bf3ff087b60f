// Damaged model files given to the programs: one line that names the file, exit status 1, in little time and memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "base/error.h"
#include "e2e/process.h"
#include "formats/gguf.h"
#include "formats/gguf_damage.h"
#include "formats/gguf_fields.h"
#include "model/model.h"
#include "tokenizer/tokenizer.h"

namespace powerinfer::test {
namespace {

using formats::GgufValue;
using testing::HasSubstr;
using testing::StartsWith;

const std::string kModel = POWERINFER_SOURCE_DIR "/models/fable.gguf";

/// 5 seconds and a gibibyte. Sanitizers reserve address space beyond any limit; what they fill counts all the same.
constexpr int kSeconds = 5;
constexpr int64_t kMemory = int64_t{1} << 30;
const RunOptions kBounds = {.timeout_s = kSanitized ? 60 : kSeconds, .most_address_space = kSanitized ? 0 : uint64_t{kMemory}};

void write_bytes(const std::string& path, const std::vector<uint8_t>& bytes) {
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

void expect_one_line(const Output& o, const std::string& path) {
    EXPECT_EQ(o.status, 1) << o.err;
    EXPECT_EQ(std::count(o.err.begin(), o.err.end(), '\n'), 1) << o.err;
    EXPECT_THAT(o.err, StartsWith("error: "));
    EXPECT_THAT(o.err, HasSubstr(path));
    EXPECT_LT(o.cpu_seconds, kSeconds);
    EXPECT_LT(o.most_resident_bytes, kMemory);
}

Output inspect(const std::string& path) { return run({"powerinfer", "inspect", path}, kBounds); }
Output generate(const std::string& path) { return run({"main", "-m", path, "-n", "1", "-p", "x"}, kBounds); }

TEST(DamagedFiles, EveryNamedCaseIsOneLineOfBothPrograms) {
    const TemporaryFolder folder;
    const std::string path = folder / "m.gguf";
    for (const DamageCase& c : kDamageCases) {
        SCOPED_TRACE(c.name);
        RawGguf bad = sound_gguf();
        c.damage(bad);
        write_bytes(path, bad.build().bytes);
        expect_one_line(inspect(path), path);
        const Output o = generate(path);
        expect_one_line(o, path);
        EXPECT_THAT(o.err, HasSubstr(c.says));
        // A twin is a sound container, though no whole model.
        RawGguf good = sound_gguf();
        c.twin(good);
        write_bytes(path, good.build().bytes);
        EXPECT_EQ(inspect(path).status, 0);
    }
}

/// The demo model as it will be written again, to be bent.
struct Sheet {
    formats::GgufMagic magic = formats::GgufMagic::gguf;
    std::vector<std::pair<std::string, GgufValue>> keys;
    std::vector<formats::GgufTensor> tensors;

    GgufValue& key(const std::string& name) {
        return std::find_if(keys.begin(), keys.end(), [&](const auto& k) { return k.first == name; })->second;
    }
    formats::GgufTensor& tensor(const std::string& name) {
        return *std::find_if(tensors.begin(), tensors.end(), [&](const auto& t) { return t.name == name; });
    }
    void drop_key(const std::string& name) {
        std::erase_if(keys, [&](const auto& k) { return k.first == name; });
    }
    void drop_tensor(const std::string& name) {
        std::erase_if(tensors, [&](const auto& t) { return t.name == name; });
    }
    void write(const std::string& path) const {
        formats::GgufWriter out(path, magic);
        for (const auto& [name, value] : keys) out.set(name, value);
        for (const auto& t : tensors) out.add_tensor(t.name, t.view.type, t.view.ne);
        out.begin_data();
        for (const auto& t : tensors) out.write(t.view.data, t.view.n_bytes());
        out.finish();
    }
};

struct ModelCase {
    const char* name;
    void (*damage)(Sheet&);
    const char* says;  ///< part of the message
};

template <class T>
std::vector<T>& list(Sheet& s, const char* key) {
    return std::get<std::vector<T>>(s.key(key).data);
}

const ModelCase kModelCases[] = {
    {"no architecture", [](Sheet& s) { s.drop_key("general.architecture"); }, "general.architecture"},
    {"unknown architecture", [](Sheet& s) { s.key("general.architecture") = GgufValue::of_string("lama"); }, "'lama'"},
    {"architecture a number", [](Sheet& s) { s.key("general.architecture") = GgufValue::of_u32(1); }, "general.architecture"},
    {"head_count 0", [](Sheet& s) { s.key("llama.attention.head_count") = GgufValue::of_u32(0); }, "head_count"},
    {"head_count 2^32 - 1", [](Sheet& s) { s.key("llama.attention.head_count") = GgufValue::of_u32(~0u); }, "head_count"},
    {"head_count_kv 3", [](Sheet& s) { s.key("llama.attention.head_count_kv") = GgufValue::of_u32(3); }, "head"},
    {"block_count 0", [](Sheet& s) { s.key("llama.block_count") = GgufValue::of_u32(0); }, "block_count"},
    {"block_count 2^31", [](Sheet& s) { s.key("llama.block_count") = GgufValue::of_u32(1u << 31); }, "block_count"},
    {"one block too many", [](Sheet& s) { s.key("llama.block_count") = GgufValue::of_u32(5); }, "blk.4."},
    {"one block too few", [](Sheet& s) { s.key("llama.block_count") = GgufValue::of_u32(3); }, "blk.3."},
    {"n_embd 0", [](Sheet& s) { s.key("llama.embedding_length") = GgufValue::of_u32(0); }, "embedding_length"},
    {"n_embd another", [](Sheet& s) { s.key("llama.embedding_length") = GgufValue::of_u32(512); }, "512"},
    {"n_ff another", [](Sheet& s) { s.key("llama.feed_forward_length") = GgufValue::of_u32(1056); }, "1056"},
    {"n_ff missing", [](Sheet& s) { s.drop_key("llama.feed_forward_length"); }, "feed_forward_length"},
    {"epsilon negative", [](Sheet& s) { s.key("llama.attention.layer_norm_rms_epsilon") = GgufValue::of_f32(-1); }, "epsilon"},
    {"odd rotary dimension", [](Sheet& s) { s.key("llama.rope.dimension_count") = GgufValue::of_u32(31); }, "dimension_count"},
    {"unknown activation", [](Sheet& s) { s.key("powerinfer.activation") = GgufValue::of_string("tanh"); }, "'tanh'"},
    {"embedding missing", [](Sheet& s) { s.drop_tensor("token_embd.weight"); }, "token_embd.weight"},
    {"projection missing", [](Sheet& s) { s.drop_tensor("blk.2.ffn_up.weight"); }, "blk.2.ffn_up.weight"},
    {"projection on its side", [](Sheet& s) { std::swap(s.tensor("blk.1.ffn_up.weight").view.ne[0], s.tensor("blk.1.ffn_up.weight").view.ne[1]); },
     "blk.1.ffn_up.weight"},
    {"norm in two dimensions", [](Sheet& s) { s.tensor("blk.0.attn_norm.weight").view.ne = {128, 2, 1, 1}; }, "blk.0.attn_norm.weight"},
    {"PWRI without predictors", [](Sheet& s) { s.magic = formats::GgufMagic::pwri; }, "blk.0."},
    {"no tokens", [](Sheet& s) { s.drop_key("tokenizer.ggml.tokens"); }, "tokenizer.ggml.tokens"},
    {"tokens a number", [](Sheet& s) { s.key("tokenizer.ggml.tokens") = GgufValue::of_u32(7); }, "tokenizer.ggml.tokens"},
    {"scores shorter than tokens", [](Sheet& s) { list<double>(s, "tokenizer.ggml.scores").pop_back(); }, "tokenizer.ggml.scores"},
    {"types shorter than tokens", [](Sheet& s) { list<int64_t>(s, "tokenizer.ggml.token_type").pop_back(); }, "tokenizer.ggml.token_type"},
    {"unknown token type", [](Sheet& s) { list<int64_t>(s, "tokenizer.ggml.token_type")[5] = 99; }, "tokenizer.ggml.token_type"},
    {"byte token of no hex", [](Sheet& s) { list<std::string>(s, "tokenizer.ggml.tokens")[20] = "<0xZZ>"; }, "<0xZZ>"},
    {"BOS out of range", [](Sheet& s) { s.key("tokenizer.ggml.bos_token_id") = GgufValue::of_u32(2048); }, "bos_token_id"},
    {"EOS at 2^31", [](Sheet& s) { s.key("tokenizer.ggml.eos_token_id") = GgufValue::of_u32(1u << 31); }, "eos_token_id"},
    {"unknown vocabulary", [](Sheet& s) { s.key("tokenizer.ggml.model") = GgufValue::of_string("runes"); }, "'runes'"},
    {"vocabulary shorter than the embedding", [](Sheet& s) {
         for (const char* key : {"tokenizer.ggml.scores"}) list<double>(s, key).resize(2000);
         list<int64_t>(s, "tokenizer.ggml.token_type").resize(2000);
         list<std::string>(s, "tokenizer.ggml.tokens").resize(2000);
     }, "2000"},
};

TEST(DamagedFiles, AModelThatIsNotWholeIsOneLine) {
    const TemporaryFolder folder;
    const std::string path = folder / "m.gguf";
    const auto sound = formats::GgufFile::open(kModel);
    const Sheet sheet{sound.magic(), sound.keys(), sound.tensors()};
    sheet.write(path);
    const Output good = generate(path);
    EXPECT_EQ(good.status, 0) << good.err;
    for (const ModelCase& c : kModelCases) {
        SCOPED_TRACE(c.name);
        Sheet bent = sheet;
        c.damage(bent);
        bent.write(path);
        const Output o = generate(path);
        expect_one_line(o, path);
        EXPECT_THAT(o.err, HasSubstr(c.says));
    }
}

std::vector<uint8_t> demo_model() {
    std::ifstream in(kModel, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

TEST(DamagedFiles, EveryNumberOfAModelMutatedIsReadOrRefused) {
    const Image image = GgufFields(demo_model(), 500).image();
    EXPECT_GT(image.fields.size(), 300u);
    int refused = 0, loaded = 0;
    for (const Field& field : image.fields)
        for (const uint64_t value : awkward_values(field_value(image, field))) {
            SCOPED_TRACE(field.what + " = " + std::to_string(value));
            const std::vector<uint8_t> bytes = with_field(image, field, value);
            try {
                const auto file = std::make_shared<const formats::GgufFile>(formats::GgufFile::parse(bytes, "m.gguf"));
                model::load(file);
                tokenizer::Tokenizer::load(*file).encode("Once upon a time", {.add_special = true});
                ++loaded;
            } catch (const powerinfer::Error& e) {
                EXPECT_THAT(e.what(), HasSubstr("m.gguf"));
                ++refused;
            }
        }
    EXPECT_GT(refused, 1500);
    EXPECT_GT(loaded, 100);
}

TEST(DamagedFiles, ANumberOfAModelMutatedIsOneLineOrAText) {
    const TemporaryFolder folder;
    const std::string path = folder / "m.gguf";
    const Image image = GgufFields(demo_model(), 2000).image();
    int refused = 0, n = 0;
    for (const Field& field : image.fields) {
        const auto values = awkward_values(field_value(image, field));
        const uint64_t value = values[static_cast<size_t>(n++) % values.size()];
        SCOPED_TRACE(field.what + " = " + std::to_string(value));
        write_bytes(path, with_field(image, field, value));
        const Output o = run({"main", "-m", path, "-c", "64", "-n", "1", "-p", "x"}, kBounds);
        if (o.status == 0) {
            EXPECT_LT(o.cpu_seconds, kSeconds);
            continue;
        }
        ++refused;
        EXPECT_EQ(o.status, 1) << o.err;
        EXPECT_THAT(o.err.substr(o.err.rfind('\n', o.err.size() - 2) + 1), StartsWith("error: ")) << o.err;
    }
    EXPECT_GT(refused, 200);
}

TEST(DamagedFiles, ACutModelIsOneLine) {
    const TemporaryFolder folder;
    const std::string path = folder / "m.gguf";
    std::filesystem::copy(kModel, path);
    std::filesystem::permissions(path, std::filesystem::perms::owner_write, std::filesystem::perm_options::add);
    const auto whole = std::filesystem::file_size(path);
    for (const uint64_t n : {whole - 1, whole / 2, whole / 10, uint64_t{60000}, uint64_t{30000}, uint64_t{4096},
                             uint64_t{100}, uint64_t{25}, uint64_t{24}, uint64_t{23}, uint64_t{7}, uint64_t{3},
                             uint64_t{0}}) {
        SCOPED_TRACE(n);
        std::filesystem::resize_file(path, n);
        expect_one_line(inspect(path), path);
        expect_one_line(generate(path), path);
    }
}

}  // namespace
}  // namespace powerinfer::test
