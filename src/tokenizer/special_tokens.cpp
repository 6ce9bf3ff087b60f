#include "tokenizer/special_tokens.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>

#include "tokenizer/utf8.h"

namespace powerinfer::tokenizer {
namespace {

using Text = std::string_view;
using Texts = std::span<const Text>;

// clang-format off
// What published chat models call these tokens; the first that a vocabulary has is taken.
constexpr std::array<Text, 11> kEndOfTurn = {
    "<|eot_id|>", "<|im_end|>", "<|end|>", "<end_of_turn>", "<|endoftext|>", "<EOT>", "_<EOT>", "[EOT]",
    "<｜end▁of▁sentence｜>", "<|end_of_text|>", "<end_of_utterance>"};
constexpr std::array<Text, 1> kEndOfMessage = {
    "<|eom_id|>"};
constexpr std::array<Text, 8> kFimPrefix = {
    "<|fim_prefix|>", "<fim-prefix>", "<fim_prefix>", "<｜fim▁begin｜>", "<PRE>", "▁<PRE>",
    "<|code_prefix|>", "<|prefix|>"};
constexpr std::array<Text, 8> kFimSuffix = {
    "<|fim_suffix|>", "<fim-suffix>", "<fim_suffix>", "<｜fim▁hole｜>", "<SUF>", "▁<SUF>",
    "<|code_suffix|>", "<|suffix|>"};
constexpr std::array<Text, 8> kFimMiddle = {
    "<|fim_middle|>", "<fim-middle>", "<fim_middle>", "<｜fim▁end｜>", "<MID>", "▁<MID>",
    "<|code_middle|>", "<|middle|>"};
constexpr std::array<Text, 5> kFimPad = {
    "<|fim_pad|>", "<fim-pad>", "<fim_pad>", "<PAD>", "[PAD]"};
constexpr std::array<Text, 5> kFimRepo = {
    "<|fim_repo|>", "<|repo_name|>", "<fim-repo>", "<REPO>", "<reponame>"};
constexpr std::array<Text, 1> kFimSeparator = {
    "<|file_sep|>"};

constexpr std::array<Text, 22> kEndOfGeneration = {
    "<|eot_id|>", "<|im_end|>", "<|end|>", "<|return|>", "<|call|>", "<|flush|>", "<|calls|>",
    "<end_of_turn>", "<|endoftext|>", "</s>", "<|eom_id|>", "<EOT>", "_<EOT>", "[EOT]", "[EOS]",
    "<|end_of_text|>", "<end_of_utterance>", "<eos>", "<turn|>", "<|tool_response>",
    "<｜end▁of▁sentence｜>", "[e~["};
// clang-format on

/// The id that the file names, or of the first known text, which then is a control token.
TokenId named_or(const std::optional<TokenId>& named, Texts texts, VocabularyData& data,
                 const TokenIndex& index) {
    if (named) return *named;
    for (const std::string_view text : texts) {
        const TokenId id = index.find(text);
        if (id == kNoToken) continue;
        data.kinds[id] = TokenKind::control;
        return id;
    }
    return kNoToken;
}

}  // namespace

SpecialTokens find_special_tokens(VocabularyData& data, const TokenIndex& index, bool add_bos_by_default,
                                  const LogSink& log_sink) {
    SpecialTokens special;
    const bool spm = data.model == "llama";
    // Files without the keys: SentencePiece's own order, or Falcon's only special token.
    const auto by_default = [&](const std::optional<TokenId>& named, TokenId id, bool applies) {
        if (named) return *named;
        return applies && id < static_cast<TokenId>(data.tokens.size()) ? id : kNoToken;
    };
    const bool falcon = data.tokens.size() > 11 && data.tokens[11] == "<|endoftext|>";
    special.bos = by_default(data.bos, spm ? 1 : 11, spm || falcon);
    special.eos = by_default(data.eos, spm ? 2 : 11, spm || falcon);
    special.unk = by_default(data.unk, 0, spm);
    special.pad = data.pad.value_or(kNoToken);
    special.sep = data.sep.value_or(kNoToken);
    special.eot = named_or(data.eot, kEndOfTurn, data, index);
    special.eom = named_or(data.eom, kEndOfMessage, data, index);
    special.fim_prefix = named_or(data.fim_prefix, kFimPrefix, data, index);
    special.fim_suffix = named_or(data.fim_suffix, kFimSuffix, data, index);
    special.fim_middle = named_or(data.fim_middle, kFimMiddle, data, index);
    special.fim_pad = named_or(data.fim_pad, kFimPad, data, index);
    special.fim_repo = named_or(data.fim_repo, kFimRepo, data, index);
    special.fim_separator = named_or(data.fim_separator, kFimSeparator, data, index);

    special.add_bos = data.add_bos.value_or(spm || add_bos_by_default);
    special.add_eos = data.add_eos.value_or(false);
    if (special.add_bos && special.bos == kNoToken) {
        log(log_sink, LogLevel::warning,
            "The vocabulary wants BOS in front of a text but names no BOS token; none is added.");
        special.add_bos = false;
    }
    if (special.add_eos && special.eos == kNoToken) {
        log(log_sink, LogLevel::warning,
            "The vocabulary wants EOS behind a text but names no EOS token; none is added.");
        special.add_eos = false;
    }
    return special;
}

std::vector<bool> find_end_tokens(VocabularyData& data, const TokenIndex& index,
                                  const SpecialTokens& special) {
    std::vector<bool> ends(data.tokens.size(), false);
    const auto has = [&](std::string_view text) { return index.find(text) != kNoToken; };
    // Formats in which a message has an end of its own, after which the generation goes on.
    const bool end_is_inner = has("<|end|>") && ((has("<|return|>") && has("<|call|>")) ||
                                                 ((has("<|call|>") || has("<|calls|>")) && has("<|flush|>")));
    const bool s_is_inner = has("<|tool_response>") || has("<|plamo:eos|>");
    for (const std::string_view text : kEndOfGeneration) {
        const TokenId id = index.find(text);
        if (id == kNoToken || (text == "<|end|>" && end_is_inner) || (text == "</s>" && s_is_inner)) continue;
        ends[id] = true;
        data.kinds[id] = TokenKind::control;
    }
    for (const TokenId id :
         {special.eos, special.eot, special.eom, special.fim_pad, special.fim_repo, special.fim_separator})
        if (id != kNoToken) ends[id] = true;

    for (const std::string_view text : {"<|channel|>", "<|message|>", "<|start|>", "<|constrain|>"})
        if (const TokenId id = index.find(text); id != kNoToken) data.kinds[id] = TokenKind::user_defined;
    if (end_is_inner) {
        const TokenId id = index.find("<|end|>");
        ends[id] = id == special.eos;
        data.kinds[id] = TokenKind::user_defined;
    }
    for (size_t i = 0; i < data.tokens.size(); ++i)
        if (data.kinds[i] == TokenKind::control && data.tokens[i].find("unused") != std::string::npos)
            data.kinds[i] = TokenKind::unused;
    return ends;
}

SpecialMatcher::SpecialMatcher(const VocabularyData& data, bool marks) : nodes_(1) {
    for (size_t i = 0; i < data.tokens.size(); ++i) {
        const TokenKind kind = data.kinds[i];
        const auto id = static_cast<TokenId>(i);
        if (kind != TokenKind::control && kind != TokenKind::user_defined && kind != TokenKind::unknown)
            continue;
        const bool user_defined = kind == TokenKind::user_defined;
        add(user_defined && marks ? replace_all(data.tokens[i], kSpaceMark, " ") : data.tokens[i], id,
            user_defined);
    }
    // The format has no place for these attributes; they go by names, as in the programs that wrote the
    // files.
    std::string name = data.model_name;
    std::ranges::transform(name, name.begin(),
                           [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    if (name.find("phi-3") != std::string::npos || name.find("phi3") != std::string::npos) {
        strip_right_.assign(data.tokens.size(), true);
        for (size_t i = 0; i < data.tokens.size(); ++i)
            for (const std::string_view kept : {"<unk>", "<s>", "<|endoftext|>"})
                if (data.tokens[i] == kept) strip_right_[i] = false;
    }
    if (data.pre == "jina-v2-de" || data.pre == "jina-v2-es" || data.pre == "jina-v2-code") {
        const auto mask = std::ranges::find(data.tokens, "<mask>");
        if (mask != data.tokens.end()) strip_left_ = static_cast<TokenId>(mask - data.tokens.begin());
    }
}

void SpecialMatcher::add(std::string_view text, TokenId id, bool user_defined) {
    if (text.empty()) return;
    uint32_t at = 0;
    for (const char c : text) {
        auto& children = nodes_[at].children;
        const std::pair<uint8_t, uint32_t> wanted{static_cast<uint8_t>(c), 0};
        auto place = std::lower_bound(children.begin(), children.end(), wanted);
        if (place != children.end() && place->first == wanted.first) {
            at = place->second;
        } else {
            const auto next = static_cast<uint32_t>(nodes_.size());
            children.insert(place, {wanted.first, next});
            nodes_.emplace_back();
            at = next;
        }
    }
    if (nodes_[at].id == kNoToken) {
        nodes_[at].id = id;
        nodes_[at].user_defined = user_defined;
    }
}

const SpecialMatcher::Node* SpecialMatcher::child(const Node& node, char c) const {
    const std::pair<uint8_t, uint32_t> wanted{static_cast<uint8_t>(c), 0};
    const auto place = std::lower_bound(node.children.begin(), node.children.end(), wanted);
    return place != node.children.end() && place->first == wanted.first ? &nodes_[place->second] : nullptr;
}

SpecialMatcher::Match SpecialMatcher::at(std::string_view text, size_t position, bool parse_special) const {
    Match best;
    const Node* node = &nodes_[0];
    for (size_t i = position; i < text.size(); ++i) {
        node = child(*node, text[i]);
        if (node == nullptr) break;
        if (node->id != kNoToken && (node->user_defined || parse_special))
            best = {node->id, i + 1 - position};
    }
    return best;
}

}  // namespace powerinfer::tokenizer
