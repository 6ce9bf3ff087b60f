// What a run takes of the machine: memory beyond the file, and the time to load.
#include <gtest/gtest.h>

#include <regex>

#include "e2e/process.h"

namespace powerinfer::test {
namespace {

using Words = std::vector<std::string>;

/// The number before or after a phrase of the messages.
double number(const Output& o, const std::string& pattern) {
    std::smatch m;
    if (std::regex_search(o.err, m, std::regex(pattern))) return std::stod(m[1]);
    ADD_FAILURE() << "no '" << pattern << "' in\n" << o.err;
    return 0;
}

TEST(Resources, MemoryIsTheFileTheCacheAndLittleMore) {
    if (kSanitized) GTEST_SKIP() << "a sanitizer takes memory of its own";
    const TemporaryFolder folder;
    const Output made = run({"powerinfer", "synth", "llama-1b,n_layer=2,n_vocab=24000", "--synth-type", "f16", "--no-predictors",
                             "-o", folder / "m.gguf"});
    ASSERT_EQ(made.status, 0) << made.err;
    const double file = static_cast<double>(std::filesystem::file_size(folder / "m.gguf"));
    EXPECT_GT(file, 300e6);
    const double mib = 1 << 20;
    for (const char* mode : {"off", "exact"}) {
        // In the file's order at first; in the order that is fastest to read further down.
        Words words = {"main", "--no-repack",       "-m", folder / "m.gguf", "-p", "a b c d", "-n",   "4",
                             "-c",         "2048",       "--sparsity", mode,      "--temp", "0",       "--ignore-eos"};
        ASSERT_EQ(run(words).status, 0);  // warms the page cache
        const Output o = run(words);
        ASSERT_EQ(o.status, 0) << o.err;
        const double cache = number(o, R"(KV cache ([0-9.]+) MiB)") * mib, relaid = number(o, R"(([0-9.]+) MiB re-laid)") * mib;
        const double load_ms = number(o, R"(load time = +([0-9.]+) ms)");
        printf("%s: file %.0f MiB, re-laid %.1f MiB, KV cache %.1f MiB, resident %.0f MiB, loaded in %.0f ms\n", mode,
               file / mib, relaid / mib, cache / mib, static_cast<double>(o.most_resident_bytes) / mib, load_ms);
        EXPECT_LE(static_cast<double>(o.most_resident_bytes), file + cache + relaid + 300 * mib) << o.err;
        if (std::string(mode) == "off") {
            EXPECT_EQ(relaid, 0);
            EXPECT_LT(load_ms, 1000);
        }
        words[1] = "--repack";
        const Output repacked = run(words);
        ASSERT_EQ(repacked.status, 0) << repacked.err;
        EXPECT_EQ(repacked.out, o.out);
        printf("%s: repacked %.1f MiB, resident %.0f MiB\n", mode, number(repacked, R"(([0-9.]+) MiB repacked)"),
               static_cast<double>(repacked.most_resident_bytes) / mib);
        EXPECT_GT(number(repacked, R"(([0-9.]+) MiB repacked)") * mib, 0.55 * file);
        // No second copy of the weights: pages of the file are let go of as they are copied.
        EXPECT_LE(static_cast<double>(repacked.most_resident_bytes), file + cache + relaid + 300 * mib) << repacked.err;
    }
}

}  // namespace
}  // namespace powerinfer::test
