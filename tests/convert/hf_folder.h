// A tiny Hugging Face folder made by the test itself: config, weights, tokenizer, predictors; each part can
// be bent.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "base/half.h"
#include "formats/safetensors.h"
#include "temporary_folder.h"

namespace powerinfer::test {

struct HfTensor {
    std::vector<int64_t> shape;
    std::vector<float> values;
    std::string dtype = "F32";

    std::vector<uint8_t> bytes() const {
        std::vector<uint8_t> out;
        for (const float v : values) {
            const uint16_t half = dtype == "F16" ? f32_to_f16(v) : f32_to_bf16(v);
            const auto* p = dtype == "F32" ? reinterpret_cast<const uint8_t*>(&v)
                                           : reinterpret_cast<const uint8_t*>(&half);
            out.insert(out.end(), p, p + (dtype == "F32" ? 4 : 2));
        }
        return out;
    }
};

/// Element i is 1000 * tensor number + i, so that every value says where it comes from. Exact in F32.
inline HfTensor counted(std::vector<int64_t> shape, int number) {
    HfTensor t{std::move(shape), {}};
    int64_t n = 1;
    for (const int64_t d : t.shape) n *= d;
    for (int64_t i = 0; i < n; ++i) t.values.push_back(static_cast<float>(1000 * number + i));
    return t;
}

/// What torch.save writes for a dictionary of contiguous tensors: a zip of stored entries.
class TorchFile {
  public:
    explicit TorchFile(const std::map<std::string, HfTensor>& tensors) {
        std::string pickle = "\x80\x02}(";
        std::map<std::string, std::vector<uint8_t>> data;
        int key = 0;
        for (const auto& [name, t] : tensors) {
            const std::string k = std::to_string(key++);
            data["m/data/" + k] = t.bytes();
            const std::map<std::string, std::string> storages{
                {"F32", "FloatStorage"}, {"F16", "HalfStorage"}, {"BF16", "BFloat16Storage"}};
            pickle += text(name) + "ctorch._utils\n_rebuild_tensor_v2\n((" + text("storage") + "ctorch\n" +
                      storages.at(t.dtype) + "\n" + text(k) + text("cpu") +
                      integer(static_cast<int64_t>(t.values.size())) + "tQ" + integer(0);
            std::string sizes = "(", strides = "(";
            int64_t stride = static_cast<int64_t>(t.values.size());
            for (const int64_t d : t.shape) {
                stride /= d;
                sizes += integer(d);
                strides += integer(stride);
            }
            pickle += sizes + "t" + strides + "t\x89" + "ccollections\nOrderedDict\n)RtR";
        }
        pickle += "u.";
        data["m/data.pkl"] = {pickle.begin(), pickle.end()};
        for (const auto& [name, bytes] : data) add(name, bytes);
        finish(data.size());
    }
    const std::vector<uint8_t>& bytes() const { return out_; }

  private:
    static std::string little(uint64_t v, int n) {
        std::string s;
        for (int i = 0; i < n; ++i) s += static_cast<char>(i < 8 ? v >> (8 * i) & 0xFF : 0);
        return s;
    }
    static std::string text(const std::string& s) { return std::string(1, 'X') + little(s.size(), 4) + s; }
    static std::string integer(int64_t v) {
        return std::string(1, 'J') + little(static_cast<uint64_t>(v), 4);
    }
    static uint32_t crc(const std::vector<uint8_t>& bytes) {
        uint32_t c = 0xFFFFFFFFu;
        for (const uint8_t b : bytes) {
            c ^= b;
            for (int i = 0; i < 8; ++i) c = c >> 1 ^ (c & 1 ? 0xEDB88320u : 0u);
        }
        return ~c;
    }
    void put(const std::string& s) { out_.insert(out_.end(), s.begin(), s.end()); }
    void add(const std::string& name, const std::vector<uint8_t>& bytes) {
        const std::string common = little(0, 2) + little(0, 2) + little(0, 4) + little(crc(bytes), 4) +
                                   little(bytes.size(), 4) + little(bytes.size(), 4) + little(name.size(), 2);
        central_ += "PK\x01\x02" + little(20, 2) + little(20, 2) + common + little(0, 12) +
                    little(out_.size(), 4) + name;
        put("PK\x03\x04" + little(20, 2) + common + little(0, 2) + name);
        out_.insert(out_.end(), bytes.begin(), bytes.end());
    }
    void finish(size_t n) {
        const size_t start = out_.size();
        put(central_);
        put("PK\x05\x06" + little(0, 4) + little(n, 2) + little(n, 2) + little(central_.size(), 4) +
            little(start, 4) + little(0, 2));
    }
    std::vector<uint8_t> out_;
    std::string central_;
};

struct HfFolder {
    // Two layers, two query heads and one key/value head of 4 dimensions.
    static constexpr int64_t kEmbd = 8, kFf = 12, kLayers = 2, kVocab = 262, kHeads = 2, kKvHeads = 1,
                             kHeadDim = 4;

    std::map<std::string, std::string> config{{"architectures", "[\"LlamaForCausalLM\"]"},
                                              {"model_type", "\"llama\""},
                                              {"hidden_act", "\"silu\""},
                                              {"hidden_size", "8"},
                                              {"intermediate_size", "12"},
                                              {"num_hidden_layers", "2"},
                                              {"num_attention_heads", "2"},
                                              {"num_key_value_heads", "1"},
                                              {"vocab_size", "262"},
                                              {"max_position_embeddings", "64"},
                                              {"rms_norm_eps", "1e-05"},
                                              {"rope_theta", "10000.0"},
                                              {"tie_word_embeddings", "false"},
                                              {"bos_token_id", "1"},
                                              {"eos_token_id", "2"}};
    std::map<std::string, HfTensor> tensors;
    std::map<std::string, std::map<std::string, HfTensor>> predictors;  ///< by file name
    std::string predictor_config = "{\"sparse_threshold\": 0.25}";
    int n_pieces = 262;  ///< entries of tokenizer.model
    TemporaryFolder folder;

    HfFolder() {
        int n = 1;
        tensors["model.embed_tokens.weight"] = counted({kVocab, kEmbd}, n++);
        tensors["model.norm.weight"] = counted({kEmbd}, n++);
        tensors["lm_head.weight"] = counted({kVocab, kEmbd}, n++);
        for (int64_t i = 0; i < kLayers; ++i) {
            const std::string p = "model.layers." + std::to_string(i) + ".";
            tensors[p + "input_layernorm.weight"] = counted({kEmbd}, n++);
            tensors[p + "self_attn.q_proj.weight"] = counted({kHeads * kHeadDim, kEmbd}, n++);
            tensors[p + "self_attn.k_proj.weight"] = counted({kKvHeads * kHeadDim, kEmbd}, n++);
            tensors[p + "self_attn.v_proj.weight"] = counted({kKvHeads * kHeadDim, kEmbd}, n++);
            tensors[p + "self_attn.o_proj.weight"] = counted({kEmbd, kHeads * kHeadDim}, n++);
            tensors[p + "post_attention_layernorm.weight"] = counted({kEmbd}, n++);
            tensors[p + "mlp.gate_proj.weight"] = counted({kFf, kEmbd}, n++);
            tensors[p + "mlp.up_proj.weight"] = counted({kFf, kEmbd}, n++);
            tensors[p + "mlp.down_proj.weight"] = counted({kEmbd, kFf}, n++);
        }
    }

    void add_predictors() {
        config["hidden_act"] = "\"relu\"";
        for (int64_t i = 0; i < kLayers; ++i) {
            const int64_t rank = 3 + i;
            predictors["model_" + std::to_string(i) + ".pt"] = {
                {"fc1.weight", counted({rank, kEmbd}, static_cast<int>(50 + i))},
                {"fc2.weight", counted({kFf, rank}, static_cast<int>(60 + i))}};
        }
    }

    std::string path() const { return folder / "model"; }
    std::string predictor_path() const { return folder / "predictor"; }

    static void write_text(const std::string& path, const std::string& text) {
        std::ofstream(path, std::ios::binary) << text;
    }

    void write() const {
        std::filesystem::create_directories(path());
        std::string json;
        for (const auto& [key, value] : config)
            json += (json.empty() ? "{\"" : ",\n\"") + key + "\": " + value;
        write_text(path() + "/config.json", json + "}");
        write_text(path() + "/tokenizer.model", sentencepiece());
        write_weights("model.safetensors", tensors);
        if (predictors.empty()) return;
        std::filesystem::create_directories(predictor_path());
        if (!predictor_config.empty()) write_text(predictor_path() + "/config.json", predictor_config);
        for (const auto& [name, content] : predictors) {
            const TorchFile file(content);
            write_text(predictor_path() + "/" + name,
                       {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()});
        }
    }

    void write_weights(const std::string& name, const std::map<std::string, HfTensor>& content) const {
        std::vector<std::vector<uint8_t>> kept;
        std::vector<formats::SafeTensorData> list;
        for (const auto& [key, t] : content) kept.push_back(t.bytes());
        size_t i = 0;
        for (const auto& [key, t] : content) {
            list.push_back({key, t.dtype, t.shape, kept[i].data(), kept[i].size()});
            ++i;
        }
        formats::write_safetensors(path() + "/" + name, list);
    }

  private:
    /// A SentencePiece model: three special pieces, 256 bytes, then words.
    std::string sentencepiece() const {
        std::string out;
        const auto field = [](int number, const std::string& bytes) {
            std::string s(1, static_cast<char>(number << 3 | 2));
            for (size_t n = bytes.size();; n >>= 7) {
                s += static_cast<char>((n & 0x7F) | (n > 0x7F ? 0x80 : 0));
                if (n <= 0x7F) return s + bytes;
            }
        };
        for (int i = 0; i < n_pieces; ++i) {
            const std::array<const char*, 3> special{"<unk>", "<s>", "</s>"};
            std::string text = i < 3 ? special[static_cast<size_t>(i)] : "w" + std::to_string(i);
            int type = i == 0 ? 2 : i < 3 ? 3 : 1;
            if (i >= 3 && i < 259) {
                constexpr char kHex[] = "0123456789ABCDEF";
                text = std::string("<0x") + kHex[(i - 3) / 16] + kHex[(i - 3) % 16] + ">";
                type = 6;
            }
            const auto score = static_cast<float>(-i);
            std::string piece = field(1, text) + "\x15";
            piece.append(reinterpret_cast<const char*>(&score), 4);
            piece += '\x18';
            piece += static_cast<char>(type);
            out += field(1, piece);
        }
        return out + field(2, "\x18\x02");  // trainer_spec: model_type = BPE
    }
};

}  // namespace powerinfer::test
