// A small model file with every kind of tensor that quantizing treats differently, and rows of random
// numbers.
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "base/half.h"
#include "formats/gguf.h"

namespace powerinfer::test {

struct SmallGguf {
    std::string architecture = "llama";
    formats::GgufMagic magic = formats::GgufMagic::gguf;
    int n_layer = 2;
    int64_t n_embd = 256, n_ff = 512, n_vocab = 32, rank = 64;
    uint32_t n_head = 8, n_head_kv = 2;
    bool tied = false;
    bool predictors = false;
    DType type = DType::F16;  ///< of the matrices; F16 or F32
    std::string bad_tensor;   ///< gets one NaN

    static std::vector<float> values(int64_t n, uint32_t seed) {
        std::mt19937 random(seed);
        std::vector<float> v(static_cast<size_t>(n));
        for (float& x : v) x = static_cast<float>(static_cast<int>(random() % 2001) - 1000) / 4096.0f;
        return v;
    }

    struct Entry {
        std::string name;
        DType type;
        std::array<int64_t, 4> ne;
    };

    std::vector<Entry> entries() const {
        std::vector<Entry> list{{"token_embd.weight", type, {n_embd, n_vocab, 1, 1}}};
        for (int i = 0; i < n_layer; ++i) {
            const std::string p = "blk." + std::to_string(i) + ".";
            const int64_t n_kv = n_embd / n_head * n_head_kv;
            list.push_back({p + "attn_norm.weight", DType::F32, {n_embd, 1, 1, 1}});
            list.push_back({p + "attn_q.weight", type, {n_embd, n_embd, 1, 1}});
            list.push_back({p + "attn_k.weight", type, {n_embd, n_kv, 1, 1}});
            list.push_back({p + "attn_v.weight", type, {n_embd, n_kv, 1, 1}});
            list.push_back({p + "attn_output.weight", type, {n_embd, n_embd, 1, 1}});
            list.push_back({p + "ffn_gate.weight", type, {n_embd, n_ff, 1, 1}});
            list.push_back({p + "ffn_up.weight", type, {n_embd, n_ff, 1, 1}});
            if (predictors) {
                list.push_back({p + "ffn_down_t.weight", type, {n_embd, n_ff, 1, 1}});
                list.push_back({p + "fc1.weight", type, {n_embd, rank, 1, 1}});
                list.push_back({p + "fc2.weight", type, {rank, n_ff, 1, 1}});
            } else {
                list.push_back({p + "ffn_down.weight", type, {n_ff, n_embd, 1, 1}});
            }
        }
        list.push_back({"output_norm.weight", DType::F32, {n_embd, 1, 1, 1}});
        if (!tied) list.push_back({"output.weight", type, {n_embd, n_vocab, 1, 1}});
        return list;
    }

    void write(const std::string& path) const {
        using formats::GgufValue;
        formats::GgufWriter out(path, magic);
        out.set("general.architecture", GgufValue::of_string(architecture));
        out.set("general.file_type", GgufValue::of_u32(1));
        out.set(architecture + ".block_count", GgufValue::of_u32(static_cast<uint32_t>(n_layer)));
        out.set(architecture + ".attention.head_count", GgufValue::of_u32(n_head));
        out.set(architecture + ".attention.head_count_kv", GgufValue::of_u32(n_head_kv));
        out.set("powerinfer.sparse_threshold", GgufValue::of_f32(0.25f));
        out.set("tokenizer.ggml.tokens", GgufValue::of_strings({"<unk>", "<s>", "a"}));
        for (const Entry& e : entries()) out.add_tensor(e.name, e.type, e.ne);
        out.begin_data();
        uint32_t seed = 1;
        for (const Entry& e : entries()) {
            std::vector<float> v = values(e.ne[0] * e.ne[1], seed++);
            if (e.name == bad_tensor) v[v.size() / 2] = std::numeric_limits<float>::quiet_NaN();
            if (e.type == DType::F32) {
                out.write(v.data(), v.size() * sizeof(float));
                continue;
            }
            std::vector<uint16_t> halves(v.size());
            for (size_t i = 0; i < v.size(); ++i) halves[i] = f32_to_f16(v[i]);
            out.write(halves.data(), halves.size() * sizeof(uint16_t));
        }
        out.finish();
    }
};

}  // namespace powerinfer::test
