// Merging neighbours, best pair first, in O(n log n): the heart of SPM and of BPE.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "tokenizer/vocabulary.h"

namespace powerinfer::tokenizer {

/// In place of an id: a stretch that must not merge with its neighbours.
inline constexpr TokenId kNeverMerges = -2;

/// A stretch of text that is, or may become part of, a token. Dead once merged into its left neighbour (size
/// 0).
struct Symbol {
    size_t begin, size;      ///< bytes of the text
    TokenId id;              ///< kNoToken or kNeverMerges where the stretch is no token
    int32_t previous, next;  ///< living neighbours; -1 at the ends
};

/// What a pair becomes, and how much that is wanted: lower priorities merge first, the leftmost pair among
/// equals.
struct Merge {
    double priority;
    TokenId id;
};

/// Makes each symbol the neighbour of the next.
inline void link(std::vector<Symbol>& symbols) {
    const auto n = static_cast<int32_t>(symbols.size());
    for (int32_t i = 0; i < n; ++i) {
        symbols[i].previous = i - 1;
        symbols[i].next = i + 1 < n ? i + 1 : -1;
    }
}

/// Scratch of merge_symbols, so that a caller with many short texts allocates once.
struct MergeCandidate {
    double priority;
    int32_t left, right;
    size_t size;  ///< of both together: tells a candidate that a later merge has overtaken
    TokenId id;
};

/// Merges until no pair is wanted. `wanted(left, right)` returns an optional Merge.
template <class Wanted>
void merge_symbols(std::vector<Symbol>& symbols, std::vector<MergeCandidate>& queue, Wanted&& wanted) {
    const auto later = [](const MergeCandidate& a, const MergeCandidate& b) {
        return a.priority != b.priority ? a.priority > b.priority : a.left > b.left;
    };
    queue.clear();
    const auto offer = [&](int32_t left, int32_t right) {
        if (left < 0 || right < 0) return;
        const std::optional<Merge> merge = wanted(symbols[left], symbols[right]);
        if (!merge) return;
        queue.push_back({merge->priority, left, right, symbols[left].size + symbols[right].size, merge->id});
        std::push_heap(queue.begin(), queue.end(), later);
    };
    for (int32_t i = 1; i < static_cast<int32_t>(symbols.size()); ++i) offer(i - 1, i);
    while (!queue.empty()) {
        const MergeCandidate best = queue.front();
        std::pop_heap(queue.begin(), queue.end(), later);
        queue.pop_back();
        Symbol& left = symbols[best.left];
        Symbol& right = symbols[best.right];
        if (left.size == 0 || right.size == 0 || left.size + right.size != best.size) continue;
        left.size = best.size;
        left.id = best.id;
        left.next = right.next;
        right.size = 0;
        if (left.next >= 0) symbols[left.next].previous = best.left;
        offer(left.previous, best.left);
        offer(best.left, left.next);
    }
}

}  // namespace powerinfer::tokenizer
