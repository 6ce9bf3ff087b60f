// Cutting text with the stages of one row of the table.
#include "tokenizer/pretokenizers.h"
#include "tokenizer/utf8.h"

namespace powerinfer::tokenizer {
namespace {

/// Every byte that belongs to no well-formed character replaced by U+FFFD.
struct WellFormed {
    std::string text;
    std::vector<size_t> origin;  ///< for each byte of `text`: where it came from; one more entry for the end
};

bool is_well_formed(std::string_view text) {
    for (size_t i = 0; i < text.size();) {
        const size_t length = utf8_length(text, i);
        if (length == 0) return false;
        i += length;
    }
    return true;
}

WellFormed make_well_formed(std::string_view text) {
    WellFormed result;
    for (size_t i = 0; i < text.size();) {
        const size_t length = utf8_length(text, i);
        const std::string_view character =
            length == 0 ? std::string_view("\xEF\xBF\xBD") : text.substr(i, length);
        result.text += character;
        result.origin.insert(result.origin.end(), character.size(), i);
        i += length == 0 ? 1 : length;
    }
    result.origin.push_back(text.size());
    return result;
}

/// Cuts matched pieces, runs of numbers, in threes counted from their end; others are kept.
std::vector<Span> cut_threes_from_right(std::string_view text, const std::vector<Span>& pieces) {
    std::vector<Span> out;
    for (const Span& piece : pieces) {
        if (!piece.matched) {
            out.push_back(piece);
            continue;
        }
        size_t n_left = 0;
        for (size_t i = piece.begin; i < piece.end; i += utf8_length(text, i)) ++n_left;
        size_t begin = piece.begin;
        for (size_t i = piece.begin; i < piece.end;) {
            i += utf8_length(text, i);
            if (--n_left % 3 == 0) {
                out.push_back({begin, i, true});
                begin = i;
            }
        }
    }
    return out;
}

}  // namespace

PreTokenizer::PreTokenizer(const PreTokenizerInfo& info) : info_(info) {
    for (const std::string_view pattern : info.stages)
        stages_.push_back(
            {Regex(pattern == kThreesFromRight ? R"(\p{N}+)" : pattern), pattern == kThreesFromRight});
}

std::vector<Span> PreTokenizer::spans(std::string_view text) const {
    std::vector<Span> pieces, next;
    if (!text.empty()) pieces.push_back({0, text.size(), false});
    for (const Stage& stage : stages_) {
        next.clear();
        for (const Span& piece : pieces)
            stage.regex.cut(text.substr(piece.begin, piece.end - piece.begin), piece.begin, next);
        if (stage.threes_from_right) next = cut_threes_from_right(text, next);
        pieces.swap(next);
    }
    return pieces;
}

std::vector<std::string_view> PreTokenizer::split(std::string_view text) const {
    std::vector<std::string_view> pieces;
    if (is_well_formed(text)) {
        for (const Span& span : spans(text)) pieces.push_back(text.substr(span.begin, span.end - span.begin));
        return pieces;
    }
    const WellFormed well_formed = make_well_formed(text);
    for (const Span& span : spans(well_formed.text)) {
        const size_t begin = well_formed.origin[span.begin], end = well_formed.origin[span.end];
        pieces.push_back(text.substr(begin, end - begin));
    }
    return pieces;
}

}  // namespace powerinfer::tokenizer
