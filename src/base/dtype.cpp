#include "base/dtype.h"

#include <array>
#include <cassert>
#include <cctype>

namespace powerinfer {
namespace {

constexpr DTypeInfo kTypes[] = {
    {DType::F32, "F32", 1, 4},         {DType::F16, "F16", 1, 2},        {DType::Q4_0, "Q4_0", 32, 18},
    {DType::Q4_1, "Q4_1", 32, 20},     {DType::Q5_0, "Q5_0", 32, 22},    {DType::Q5_1, "Q5_1", 32, 24},
    {DType::Q8_0, "Q8_0", 32, 34},     {DType::Q8_1, "Q8_1", 32, 36},    {DType::Q2_K, "Q2_K", 256, 84},
    {DType::Q3_K, "Q3_K", 256, 110},   {DType::Q4_K, "Q4_K", 256, 144},  {DType::Q5_K, "Q5_K", 256, 176},
    {DType::Q6_K, "Q6_K", 256, 210},   {DType::Q8_K, "Q8_K", 256, 292},  {DType::IQ4_NL, "IQ4_NL", 32, 18},
    {DType::IQ4_XS, "IQ4_XS", 256, 136}, {DType::I8, "I8", 1, 1},        {DType::I16, "I16", 1, 2},
    {DType::I32, "I32", 1, 4},         {DType::I64, "I64", 1, 8},        {DType::F64, "F64", 1, 8},
    {DType::BF16, "BF16", 1, 2},       {DType::TQ1_0, "TQ1_0", 256, 54}, {DType::TQ2_0, "TQ2_0", 256, 66},
    {DType::MXFP4, "MXFP4", 32, 17},
};

/// Ids that other programs write, or once wrote, and that we name in refusals.
struct ForeignType {
    uint32_t id;
    std::string_view name;
};
constexpr ForeignType kForeign[] = {
    {4, "Q4_2 (removed)"},      {5, "Q4_3 (removed)"},      {16, "IQ2_XXS"}, {17, "IQ2_XS"},
    {18, "IQ3_XXS"},            {19, "IQ1_S"},              {21, "IQ3_S"},   {22, "IQ2_S"},
    {29, "IQ1_M"},              {31, "Q4_0_4_4 (removed)"}, {32, "Q4_0_4_8 (removed)"},
    {33, "Q4_0_8_8 (removed)"}, {36, "IQ4_NL_4_4 (removed)"}, {37, "IQ4_NL_4_8 (removed)"},
    {38, "IQ4_NL_8_8 (removed)"}, {40, "NVFP4"},            {41, "Q1_0"},    {42, "Q2_0"},
};

bool equal_ignoring_case(std::string_view a, std::string_view b) {
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); ++i) {
        if (std::toupper(static_cast<unsigned char>(a[i])) != std::toupper(static_cast<unsigned char>(b[i])))
            return false;
    }
    return true;
}

constexpr std::array<int8_t, kDTypeIdEnd> index_by_id() {
    std::array<int8_t, kDTypeIdEnd> index{};
    for (auto& i : index) i = -1;
    int8_t row = 0;
    for (const DTypeInfo& t : kTypes) index[static_cast<size_t>(t.type)] = row++;
    return index;
}
constexpr auto kRowOfId = index_by_id();

}  // namespace

const DTypeInfo& info(DType type) {
    const auto id = static_cast<size_t>(type);
    assert(id < kDTypeIdEnd && kRowOfId[id] >= 0);
    return kTypes[static_cast<size_t>(kRowOfId[id])];
}

std::optional<DType> find_dtype(uint32_t id) {
    if (id >= kDTypeIdEnd || kRowOfId[id] < 0) return std::nullopt;
    return static_cast<DType>(id);
}

std::optional<DType> find_dtype(std::string_view name) {
    for (const DTypeInfo& t : kTypes) {
        if (equal_ignoring_case(t.name, name)) return t.type;
    }
    return std::nullopt;
}

std::string_view dtype_id_name(uint32_t id) {
    if (const auto type = find_dtype(id)) return info(*type).name;
    for (const ForeignType& t : kForeign) {
        if (t.id == id) return t.name;
    }
    return "unknown";
}

}  // namespace powerinfer
