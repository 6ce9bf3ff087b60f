// Plans for the described machines, kept as text: a change of the objective or of a machine shows here. To renew the file after
// a wanted change, run the test with POWERINFER_RENEW_GOLDEN=1 and read the difference.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "base/error.h"
#include "plan/placement.h"

namespace powerinfer::plan {
namespace {

const std::string kPath = POWERINFER_SOURCE_DIR "/tests/plan/golden_plans.txt";

Workload shape(Shape s, double active_share, double share_of_80) {
    Frequencies f(static_cast<size_t>(s.n_layer), power_law(s.n_ff, active_share, share_of_80));
    return workload_of(s, f);
}

std::string plans() {
    const std::vector<Workload> models = {
        shape({.name = "llama-7b"}, 0.33, 0.5),
        shape({.name = "llama-13b-f16", .n_embd = 5120, .n_layer = 40, .n_ff = 13824, .n_embd_kv = 5120, .type = DType::F16,
               .predictor_type = DType::F16}, 0.22, 0.46),
        shape({.name = "llama-70b", .n_embd = 8192, .n_layer = 80, .n_ff = 28672, .n_embd_kv = 1024}, 0.18, 0.43)};
    std::string text = "# machine; layers with attention, cache, all neurons, some neurons on a device; head on a device; served; tokens/s; missing RAM MiB\n";
    for (const Workload& w : models) {
        text += w.model + "\n";
        for (const Machine& m : described_machines()) {
            if (m.devices.size() > 1) continue;
            const Solution s = place(w, m, {});
            EXPECT_LE(s.gap(), 1e-4) << m.name;
            int attention = 0, cache = 0, all = 0, some = 0;
            for (size_t l = 0; l < w.layers.size(); ++l) {
                const LayerPlacement& p = s.placement.layers[l];
                attention += p.home != kHost;
                cache += p.kv_on_device;
                all += p.n_groups == w.layers[l].groups.size();
                some += p.n_groups > 0 && p.n_groups < w.layers[l].groups.size();
            }
            text += fmt::format("  {:<11}{:>3} {:>3} {:>3} {:>3}  {}  {:>5.1f} %{:>9.3g}{:>8}\n", m.name, attention, cache, all, some,
                                s.placement.head == kHost ? "-" : "h", 100 * s.expected.served, s.expected.tokens_per_s(),
                                s.expected.missing_ram() >> 20);
        }
    }
    return text;
}

TEST(GoldenPlans, AreWhatTheyWere) {
    const std::string now = plans();
    if (std::getenv("POWERINFER_RENEW_GOLDEN")) std::ofstream(kPath) << now;
    std::ifstream in(kPath);
    std::ostringstream kept;
    kept << in.rdbuf();
    EXPECT_EQ(now, kept.str());
}

}  // namespace
}  // namespace powerinfer::plan
