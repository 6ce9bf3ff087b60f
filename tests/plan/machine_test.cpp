#include "plan/machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "error_message.h"

namespace powerinfer::plan {
namespace {

using powerinfer::test::message_of;
using testing::HasSubstr;

TEST(Machine, ComesBackFromJson) {
    EXPECT_GE(described_machines().size(), 8u);
    for (const Machine& m : described_machines()) {
        EXPECT_FALSE(m.source.empty()) << m.name;
        const std::string text = to_json(m);
        EXPECT_EQ(to_json(machine_from_json(text, m.name)), text);
    }
}

TEST(Machine, WrongDescriptionsAreRefused) {
    const auto with = [](auto change) {
        auto json = nlohmann::json::parse(to_json(find_machine("rtx4090")));
        change(json);
        return message_of([&] { machine_from_json(json.dump(), "m.json"); });
    };
    EXPECT_EQ(with([](auto&) {}), "(no error)");
    EXPECT_EQ(with([](auto& j) { j.erase("memory"); }), "'m.json': the machine has no field 'memory'");
    EXPECT_EQ(with([](auto& j) { j["memory"] = -1; }), "'m.json': field 'memory' of the machine is not a whole number of bytes up to 1e15");
    EXPECT_EQ(with([](auto& j) { j["memory"] = "64"; }), "'m.json': field 'memory' of the machine is not a number");
    EXPECT_EQ(with([](auto& j) { j["bandwidth"] = 0; }), "machine 'm.json': bandwidth is 0, expected bytes per second from 1e6");
    EXPECT_EQ(with([](auto& j) { j["bandwith"] = 1; }), "'m.json': the machine has a field 'bandwith' that is not known");
    EXPECT_EQ(with([](auto& j) { j["devices"][0]["row_share"] = 1.5; }),
              "machine 'm.json': RTX 4090: row_share is 1.5, expected above 0 and at most 1");
    EXPECT_EQ(with([](auto& j) { j["devices"] = 5; }), "'m.json': field 'devices' of the machine is not a list");
    EXPECT_THAT(with([](auto& j) {
                    for (int i = 0; i < 8; ++i) j["devices"].push_back(j["devices"][0]);
                }),
                HasSubstr("has 9 devices"));
    EXPECT_EQ(message_of([] { machine_from_json("{", "m.json"); }), "'m.json' is not JSON, expected the description of a machine");
    EXPECT_THAT(message_of([] { find_machine("cray"); }), HasSubstr("there is no machine 'cray': give one of rtx4090, "));
}

TEST(Rates, TakeTheSlowerOfReadingAndComputing) {
    const Rates r{.bandwidth = 1e9, .row_share = 0.5, .macs_per_s = 1e10};
    EXPECT_DOUBLE_EQ(r.seconds(1e9, 1e9), 1);          // reading, all rows
    EXPECT_DOUBLE_EQ(r.seconds(1e9, 1e9, 0.1), 0.2);   // a tenth of the rows at half the speed
    EXPECT_DOUBLE_EQ(r.seconds(1e9, 1e9, 0.9), 1);     // reading all is faster than picking nine tenths
    EXPECT_DOUBLE_EQ(r.seconds(1e9, 1e11, 0.5), 5);    // computing
}

}  // namespace
}  // namespace powerinfer::plan
