// Which room of src/ may include what: the table of docs/MAP.md as data.
#pragma once

#include <map>
#include <set>
#include <string>

namespace powerinfer::repo {

struct Room {
    std::set<std::string> rooms;      ///< other rooms it may include
    std::set<std::string> libraries;  ///< besides the standard library, the operating system and fmt
};

/// Reads like the design: from the floor up.
inline const std::map<std::string, Room>& rooms() {
    static const std::map<std::string, Room> table = {
        {"base", {{}, {}}},
        {"quant", {{"base"}, {}}},
        {"formats", {{"base"}, {"JSON"}}},
        {"tokenizer", {{"base", "formats"}, {"PCRE2", "JSON"}}},
        {"model", {{"base", "formats"}, {}}},
        {"kernels", {{"base", "quant"}, {}}},
        {"sparsity", {{"base", "formats", "model"}, {}}},
        {"plan", {{"base", "model", "sparsity"}, {"JSON"}}},
        {"engine", {{"base", "quant", "formats", "model", "kernels", "sparsity", "plan"}, {}}},
        {"learn",
         {{"base", "quant", "formats", "tokenizer", "model", "kernels", "sparsity", "plan", "engine"},
          {"JSON", "Eigen"}}},
        {"generate", {{"base", "tokenizer", "engine"}, {"JSON"}}},
        {"server", {{"base", "formats", "tokenizer", "model", "plan", "engine", "generate"}, {"JSON", "HTTP"}}},
        {"convert", {{"base", "quant", "formats", "model", "tokenizer", "sparsity"}, {"JSON"}}},
        {"api",
         {{"base", "quant", "formats", "tokenizer", "model", "kernels", "sparsity", "plan", "engine", "learn",
           "generate", "server", "convert"},
          {}}},
        {"tools",
         {{"base", "quant", "formats", "tokenizer", "model", "kernels", "sparsity", "plan", "engine", "learn",
           "generate", "server", "convert", "api"},
          {"JSON", "libedit"}}},
    };
    return table;
}

/// Public headers that hold what rooms share with users of the library; the others belong to the room api.
inline bool is_shared_public_header(const std::string& header) {
    static const std::set<std::string> shared = {"powerinfer/callbacks.h", "powerinfer/error.h",
                                                 "powerinfer/generation.h", "powerinfer/version.h"};
    return shared.count(header) > 0;
}

/// The library that an angle-bracket include belongs to, by its first letters. Standard and system headers that
/// have a dot or a slash in their name are "system".
inline std::string library_of(const std::string& header) {
    static const std::map<std::string, std::string> prefixes = {
        {"fmt/", "fmt"},           {"nlohmann/", "JSON"},      {"pcre2.h", "PCRE2"},     {"Eigen/", "Eigen"},
        {"boost/", "HTTP"},        {"editline/", "libedit"},   {"histedit.h", "libedit"}, {"powerinfer/", "public"},
        {"sys/", "system"},        {"linux/", "system"},       {"asm/", "system"},       {"arpa/", "system"},
        {"netinet/", "system"},    {"glob.h", "system"},    {"unistd.h", "system"},     {"fcntl.h", "system"},    {"pthread.h", "system"},
        {"sched.h", "system"},     {"signal.h", "system"},     {"termios.h", "system"},  {"poll.h", "system"},
        {"dirent.h", "system"},    {"errno.h", "system"},      {"cpuid.h", "system"},    {"immintrin.h", "system"},
        {"x86intrin.h", "system"}, {"emmintrin.h", "system"},  {"arm_neon.h", "system"}, {"arm_fp16.h", "system"},
        {"spawn.h", "system"},     {"time.h", "system"},
    };
    for (const auto& [prefix, library] : prefixes)
        if (header.starts_with(prefix)) return library;
    if (header.find_first_of("./") == std::string::npos) return "standard";
    return "";
}

}  // namespace powerinfer::repo
