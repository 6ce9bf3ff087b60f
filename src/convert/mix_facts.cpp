// What the mixtures depend on, from the keys of a file.
#include <algorithm>

#include "base/error.h"
#include "convert/mix.h"

namespace powerinfer::convert {
namespace {

using formats::GgufFile;
using formats::GgufValue;

/// A count that may be stored per layer; mixtures only need a typical value, the largest.
int64_t typical_count(const GgufFile& file, const std::string& key, int64_t otherwise) {
    constexpr int64_t kMost = 1 << 20;
    const GgufValue* value = file.find(key);
    if (!value) return otherwise;
    std::vector<int64_t> counts;
    if (value->type == formats::GgufType::array)
        counts = file.find_ints(key).value_or(counts);
    else
        counts = {static_cast<int64_t>(std::min<uint64_t>(file.get_uint(key), kMost + 1))};
    int64_t largest = 0;
    for (const int64_t v : counts) largest = std::max(largest, v);
    if (largest > kMost)
        fail(ErrorKind::bad_file, "key '{}' of '{}' is {}; at most {} would be right", key, file.path(),
             largest, kMost);
    return largest > 0 ? largest : otherwise;
}

}  // namespace

MixFacts facts_of(const GgufFile& file) {
    MixFacts facts;
    facts.architecture = file.get_string("general.architecture");
    const std::string prefix = facts.architecture + ".";
    facts.n_layer = typical_count(file, prefix + "block_count", 0);
    facts.n_head = typical_count(file, prefix + "attention.head_count", 1);
    facts.n_head_kv = typical_count(file, prefix + "attention.head_count_kv", facts.n_head);
    facts.n_expert = typical_count(file, prefix + "expert_count", 0);
    return facts;
}

}  // namespace powerinfer::convert
