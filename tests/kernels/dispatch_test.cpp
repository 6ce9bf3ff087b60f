#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "kernel_cases.h"

namespace powerinfer::kernels {
namespace {

using testing::ElementsAreArray;
using testing::HasSubstr;

std::string refusal(const CpuInfo& cpu, std::string_view isa) {
    try {
        ops(cpu, isa);
    } catch (const Error& e) {
        EXPECT_EQ(e.kind(), ErrorKind::unsupported);
        return e.what();
    }
    return "accepted";
}

TEST(Dispatch, ScalarIsAlwaysThereAndLast) {
    EXPECT_EQ(compiled_isas().back(), "scalar");
    EXPECT_EQ(available_isas(CpuInfo{}), std::vector<std::string_view>{"scalar"});
    EXPECT_EQ(ops(CpuInfo{}).isa, "scalar");
}

TEST(Dispatch, BestComesFirstAndIsTheDefault) {
    CpuInfo all;
    all.avx2 = all.avx_vnni = all.avx512 = all.neon_dotprod = all.neon_i8mm = true;
    const auto names = available_isas(all);
    EXPECT_THAT(names, ElementsAreArray(compiled_isas()));
    EXPECT_EQ(ops(all).isa, names.front());
    CpuInfo some;
    some.avx2 = true;
#if defined(__x86_64__)
    EXPECT_EQ(names, (std::vector<std::string_view>{"avx512", "avxvnni", "avx2", "scalar"}));
    EXPECT_EQ(ops(some).isa, "avx2");
#elif defined(__aarch64__)
    EXPECT_EQ(names, (std::vector<std::string_view>{"neon_i8mm", "neon", "scalar"}));
    some.neon_dotprod = true;
    EXPECT_EQ(ops(some).isa, "neon");
#endif
}

TEST(Dispatch, ForcedSetTakes) {
    for (const auto isa : isas()) EXPECT_EQ(table(isa).isa, isa);
}

TEST(Dispatch, RefusesWithOneSentence) {
    CpuInfo plain;
    plain.name = "Old Processor";
    EXPECT_THAT(refusal(plain, "nonsense"),
                HasSubstr("\"nonsense\" is not one that this program was built with"));
    EXPECT_THAT(refusal(plain, "nonsense"), HasSubstr("scalar"));
    for (const auto isa : compiled_isas()) {
        if (isa == "scalar") continue;
        EXPECT_THAT(refusal(plain, isa),
                    HasSubstr("missing on this processor (Old Processor); it can run scalar."));
    }
}

TEST(Dispatch, EveryEntryIsFilled) {
    for (const auto isa : isas()) {
        const Ops& t = table(isa);
        for (const DType type : kWeightTypes) {
            EXPECT_TRUE(t.dot[id(type)] && t.axpy[id(type)] && t.decode[id(type)])
                << isa << " " << info(type).name;
        }
        EXPECT_TRUE(t.encode && t.rms_norm && t.add && t.gate && t.f32_to_f16);
        for (const DType type : {DType::F32, DType::F16, DType::BF16, DType::Q8_0})
            EXPECT_TRUE(t.attention[id(type)]) << isa << " " << info(type).name;
        EXPECT_EQ(t.dot[id(DType::Q8_K)], nullptr);
        EXPECT_EQ(t.dot[id(DType::I32)], nullptr);
    }
}

}  // namespace
}  // namespace powerinfer::kernels
