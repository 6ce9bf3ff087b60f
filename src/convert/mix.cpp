#include "convert/mix.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <charconv>
#include <numeric>

namespace powerinfer::convert {
namespace {

/// The role of a matrix, as far as mixtures tell roles apart.
enum class Role { other, output, token_embedding, attn_v, attn_k, attn_output, ffn_down, predictor };

bool ends_with(std::string_view text, std::string_view end) {
    return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

bool contains(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

/// N of "blk.N.", or -1.
int64_t layer_of(std::string_view name) {
    if (name.substr(0, 4) != "blk.") return -1;
    int64_t n = -1;
    const auto [end, error] = std::from_chars(name.data() + 4, name.data() + name.size(), n);
    return error == std::errc() ? n : -1;
}

Role role_of(std::string_view name, bool has_output) {
    if (name == "output.weight") return Role::output;
    if (name == "token_embd.weight" || name == "per_layer_token_embd.weight")
        return has_output ? Role::token_embedding : Role::output;
    if (ends_with(name, ".fc1.weight") || ends_with(name, ".fc2.weight")) return Role::predictor;
    if (contains(name, ".attn_v.") || contains(name, ".attn_qkv.") || contains(name, ".attn_kv_b."))
        return Role::attn_v;
    if (contains(name, ".attn_k.")) return Role::attn_k;
    if (contains(name, ".attn_output.")) return Role::attn_output;
    if (contains(name, ".ffn_down.") || contains(name, ".ffn_down_t.") || contains(name, ".ffn_down_exps."))
        return Role::ffn_down;
    return Role::other;
}

/// The layers whose matrices get more bits in the _M mixtures: the first and last eighth and every third
/// between.
bool gets_more_bits(int64_t i, int64_t n) {
    return i < n / 8 || i >= 7 * n / 8 || (i - n / 8) % 3 == 2;
}

/// Running number and count of a tensor among those of its role.
struct Place {
    int64_t i = 0, n = 1;
};

DType attention_v_type(std::string_view mix, DType base, const MixFacts& facts, Place place) {
    const bool grouped = facts.n_head / std::max<int64_t>(1, facts.n_head_kv) >= 4;
    DType type = base;
    if (mix == "Q2_K") type = grouped ? DType::Q4_K : DType::Q3_K;
    if (mix == "Q3_K_M") type = place.i < 2 ? DType::Q5_K : DType::Q4_K;
    if (mix == "Q3_K_L") type = DType::Q5_K;
    if (mix == "Q4_K_S" && place.i < 4) type = DType::Q5_K;
    if ((mix == "Q4_K_M" || mix == "Q5_K_M") && gets_more_bits(place.i, place.n)) type = DType::Q6_K;
    if ((mix == "IQ4_NL" || mix == "IQ4_XS") && grouped) type = DType::Q5_K;
    const bool is_70b =
        facts.architecture == "llama" && facts.n_layer == 80 && facts.n_head != facts.n_head_kv;
    if (is_70b && (type == DType::Q3_K || type == DType::Q4_K)) type = DType::Q5_K;
    return facts.n_expert == 8 ? DType::Q8_0 : type;
}

DType ffn_down_type(std::string_view mix, DType base, const MixFacts& facts, Place place) {
    const bool falcon = facts.architecture == "falcon";
    const bool more = gets_more_bits(place.i, place.n), first_eighth = place.i < place.n / 8;
    if (mix == "Q2_K") return DType::Q3_K;
    if (mix == "Q3_K_M") {
        if (place.i < place.n / 16) return DType::Q5_K;
        return !falcon || more ? DType::Q4_K : DType::Q3_K;
    }
    if (mix == "Q3_K_L") return falcon ? DType::Q4_K : DType::Q5_K;
    if (mix == "Q4_K_M") {
        if (!falcon) return more ? DType::Q6_K : base;
        return place.i < place.n / 16 ? DType::Q6_K : more ? DType::Q5_K : base;
    }
    if (mix == "Q5_K_M" && more) return DType::Q6_K;
    if (mix == "Q4_K_S" && first_eighth && !falcon) return DType::Q5_K;
    if ((mix == "IQ4_NL" || mix == "IQ4_XS") && first_eighth) return DType::Q5_K;
    return base;
}

DType attention_output_type(std::string_view mix, DType base, const MixFacts& facts) {
    if (facts.architecture == "falcon") return mix == "Q3_K_L" ? DType::Q4_K : base;
    if (facts.n_expert == 8) {
        for (const std::string_view m :
             {"Q2_K", "Q3_K_S", "Q3_K_M", "Q4_K_S", "Q4_K_M", "IQ4_NL", "IQ4_XS"}) {
            if (mix == m) return DType::Q5_K;
        }
    }
    if (mix == "Q2_K") return DType::Q3_K;
    if (mix == "Q3_K_M") return DType::Q4_K;
    if (mix == "Q3_K_L") return DType::Q5_K;
    return base;
}

DType mixed_type(const FileType& target, const MixFacts& facts, const MixTensor& tensor, Role role,
                 Place place) {
    const DType base = target.base;
    switch (role) {
        case Role::output:
            if (base == DType::Q8_0 || facts.architecture == "falcon" || tensor.ne[0] % info(base).block != 0)
                return DType::Q8_0;
            return DType::Q6_K;
        case Role::token_embedding:
            return base == DType::TQ1_0 || base == DType::TQ2_0 ? DType::Q4_K : base;
        case Role::attn_v:
            return attention_v_type(target.name, base, facts, place);
        case Role::attn_k:
            return facts.n_expert == 8 ? DType::Q8_0 : base;
        case Role::attn_output:
            return attention_output_type(target.name, base, facts);
        case Role::ffn_down:
            return ffn_down_type(target.name, base, facts, place);
        case Role::predictor:
        case Role::other:
            break;
    }
    return base;
}

/// The running number of each attn_v and ffn_down among its like, counted by layer, whatever the order in the
/// file.
std::vector<Place> places_of(const MixFacts& facts, std::span<const MixTensor> tensors,
                             std::span<const Role> roles) {
    std::vector<Place> places(tensors.size());
    std::vector<size_t> order(tensors.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::stable_sort(order, {}, [&](size_t t) { return layer_of(tensors[t].name); });
    int64_t n_v = 0, n_down = 0;
    for (const size_t t : order) {
        if (roles[t] == Role::attn_v) places[t].i = n_v++;
        // Experts share a number: the layer's.
        if (roles[t] == Role::ffn_down)
            places[t].i = facts.n_expert > 1 ? layer_of(tensors[t].name) : n_down++;
    }
    for (size_t t = 0; t < tensors.size(); ++t) places[t].n = roles[t] == Role::attn_v ? n_v : facts.n_layer;
    return places;
}

}  // namespace

bool is_quantizable(std::string_view name, const std::array<int64_t, 4>& ne) {
    if (!ends_with(name, "weight") || ne[1] * ne[2] * ne[3] <= 1) return false;
    if (ends_with(name, "_norm.weight")) return false;
    constexpr std::string_view kKept[] = {"ffn_gate_inp.weight",
                                          "ffn_gate_inp_shexp.weight",
                                          "position_embd.weight",
                                          "token_types.weight",
                                          "ssm_conv1d.weight",
                                          "shortconv.conv.weight",
                                          "altup",
                                          "laurel",
                                          "per_layer_model_proj",
                                          "indexer.k_proj",
                                          "indexer.q_proj",
                                          "ffn_gate_tid2eid",
                                          "time_mix_",
                                          "attn_rel_b.weight",
                                          "rope_factors",
                                          "rope_freqs"};
    return std::ranges::none_of(kKept, [&](std::string_view part) { return contains(name, part); });
}

DType fitting_type(DType wanted, int64_t n) {
    if (n % info(wanted).block == 0) return wanted;
    DType smaller = DType::F16;
    switch (wanted) {
        case DType::Q2_K:
        case DType::Q3_K:
        case DType::TQ1_0:
        case DType::TQ2_0:
            smaller = DType::Q4_0;
            break;
        case DType::IQ4_XS:
            smaller = DType::IQ4_NL;
            break;
        case DType::Q4_K:
            smaller = DType::Q5_0;
            break;
        case DType::Q5_K:
            smaller = DType::Q5_1;
            break;
        case DType::Q6_K:
            smaller = DType::Q8_0;
            break;
        default:
            break;
    }
    return n % info(smaller).block == 0 ? smaller : DType::F16;
}

std::vector<MixDecision> decide_types(const MixChoice& choice, const MixFacts& facts,
                                      std::span<const MixTensor> tensors) {
    assert(choice.target != nullptr);
    const FileType& target = *choice.target;
    const bool has_output =
        std::ranges::any_of(tensors, [](const MixTensor& t) { return t.name == "output.weight"; });
    std::vector<Role> roles;
    for (const MixTensor& t : tensors) roles.push_back(role_of(t.name, has_output));
    const std::vector<Place> places = places_of(facts, tensors, roles);

    std::vector<MixDecision> decisions;
    for (size_t t = 0; t < tensors.size(); ++t) {
        const MixTensor& tensor = tensors[t];
        const bool left = choice.leave_output && tensor.name == "output.weight";
        if (target.copy || left || !is_quantizable(tensor.name, tensor.ne)) {
            decisions.push_back({tensor.type, tensor.type});
            continue;
        }
        const bool plain = choice.pure || info(target.base).block == 1;
        DType wanted = plain ? target.base : mixed_type(target, facts, tensor, roles[t], places[t]);
        if (roles[t] == Role::output && choice.output) wanted = *choice.output;
        if (tensor.name == "token_embd.weight" && choice.token_embedding) wanted = *choice.token_embedding;
        if (roles[t] == Role::predictor && choice.predictor) wanted = *choice.predictor;
        decisions.push_back({fitting_type(wanted, tensor.ne[0]), wanted});
    }
    return decisions;
}

}  // namespace powerinfer::convert
