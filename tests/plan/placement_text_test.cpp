#include "plan/placement_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "error_message.h"
#include "plan/cases.h"

namespace powerinfer::plan {
namespace {

using powerinfer::test::message_of;
using testing::HasSubstr;

struct Case {
    Workload w;
    Machine m;
    Solution s;
    explicit Case(uint32_t seed) {
        std::mt19937 random(seed);
        w = test::random_workload(random, 2, 6);
        m = test::random_machine(random, w, 1);
        m.devices[0].memory = m.devices[0].reserved + w.scratch_bytes + w.total_bytes() / 2;
        s = place(w, m, {});
    }
};

TEST(PlacementText, JsonComesBackAsTheSamePlacement) {
    for (uint32_t seed = 1; seed < 20; ++seed) {
        const Case c(seed);
        const std::string text = to_json(c.w, c.m, {}, c.s);
        EXPECT_EQ(placement_from_json(text, "p.json", c.w), c.s.placement);
        const auto json = nlohmann::json::parse(text);
        EXPECT_DOUBLE_EQ(json["expected"]["tokens_per_s"], c.s.expected.tokens_per_s());
        EXPECT_EQ(json["devices"][0]["total"], c.s.expected.devices[0].total());
        EXPECT_EQ(json["others"].size(), 4u);
    }
}

TEST(PlacementText, DamagedAndForeignJsonIsRefused) {
    const Case c(1), other(2);
    const std::string text = to_json(c.w, c.m, {}, c.s);
    const auto with = [&](auto change) {
        auto json = nlohmann::json::parse(text);
        change(json);
        return message_of([&] { placement_from_json(json.dump(), "p.json", c.w); });
    };
    EXPECT_THAT(message_of([&] { placement_from_json("[]", "p.json", c.w); }), HasSubstr("'p.json' is not a saved placement"));
    EXPECT_THAT(message_of([&] { placement_from_json(text, "p.json", other.w); }),
                HasSubstr("'p.json' was made for another model, profile, sparsity mode or context"));
    EXPECT_EQ(with([](auto& j) { j["placement"]["layers"].erase(0); }), "'p.json' places 1 layers, the model has 2");
    EXPECT_EQ(with([](auto& j) { j["placement"]["layers"][1]["groups"] = 7; }), "'p.json': 'groups' of layer 1 is 7, expected 0 to 6");
    EXPECT_EQ(with([](auto& j) { j["placement"]["layers"][1]["home"] = "gpu"; }), "'p.json': layer 1 has no whole number 'home'");
    EXPECT_EQ(with([](auto& j) { j["placement"]["layers"][0].erase("kv_on_device"); }), "'p.json': layer 0 has no yes or no 'kv_on_device'");
    EXPECT_EQ(with([](auto& j) { j["placement"] = 3; }), "'p.json' has no list placement.layers");
    EXPECT_EQ(with([](auto& j) { j["placement"]["head"] = 99; }), "'p.json': 'head' of the placement is 99, expected -1 to 7");
}

TEST(PlacementText, TheReportNamesWhatIsAskedFor) {
    const Case c(3);
    const std::string text = report(c.w, c.m, {}, c.s);
    for (const char* part : {"gpu0: ", "RAM: ", "serve ", "tokens/s", "proven to be within", "this plan", "whole layers", "attention first",
                             "hottest neurons first"})
        EXPECT_THAT(text, HasSubstr(part));
    EXPECT_THAT(explain(c.w, c.m, {}, c.s, 1), HasSubstr("layer 1: "));
}

}  // namespace
}  // namespace powerinfer::plan
