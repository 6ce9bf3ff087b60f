// Any bytes as an activation profile: parse the container, read and check every number, compute with it,
// merge it.
#include "fuzz.h"
#include "sparsity/profile.h"

using namespace powerinfer;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    fuzz::expect_error_or_success([&] {
        const auto file = formats::GgufFile::parse({data, size}, "fuzz");
        sparsity::ActivationProfile profile = sparsity::read_profile(file);
        for (int i = 0; i < profile.n_layer(); ++i) {
            profile.active_share(i);
            profile.share_covering(i, 0.8);
        }
        const sparsity::ActivationProfile copy = profile;
        profile.merge(copy);
    });
    return 0;
}
