#include "convert/file_type.h"

#include <algorithm>
#include <cctype>
#include <string>

#include "base/error.h"

namespace powerinfer::convert {
namespace {

constexpr FileType kFileTypes[] = {
    {"Q4_0", 2, DType::Q4_0, false, "4.5 bits per weight, the type with the fastest kernels"},
    {"Q4_1", 3, DType::Q4_1, false, "5 bits per weight, with a minimum per block"},
    {"Q5_0", 8, DType::Q5_0, false, "5.5 bits per weight"},
    {"Q5_1", 9, DType::Q5_1, false, "6 bits per weight, with a minimum per block"},
    {"IQ4_NL", 25, DType::IQ4_NL, false, "4.5 bits per weight, non-linear levels"},
    {"IQ4_XS", 30, DType::IQ4_XS, false, "4.25 bits per weight, non-linear levels"},
    {"Q2_K", 10, DType::Q2_K, false, "2.6 bits per weight and more for the sensitive matrices"},
    {"Q3_K_S", 11, DType::Q3_K, false, "3.4 bits per weight"},
    {"Q3_K_M", 12, DType::Q3_K, false, "Q3_K, with Q4_K and Q5_K where it matters"},
    {"Q3_K_L", 13, DType::Q3_K, false, "Q3_K, with Q5_K where it matters"},
    {"Q4_K_S", 14, DType::Q4_K, false, "4.5 bits per weight"},
    {"Q4_K_M", 15, DType::Q4_K, false, "Q4_K, with Q6_K where it matters; a good first choice"},
    {"Q5_K_S", 16, DType::Q5_K, false, "5.5 bits per weight"},
    {"Q5_K_M", 17, DType::Q5_K, false, "Q5_K, with Q6_K where it matters"},
    {"Q6_K", 18, DType::Q6_K, false, "6.6 bits per weight"},
    {"Q8_0", 7, DType::Q8_0, false, "8.5 bits per weight, hardly any loss"},
    {"TQ1_0", 36, DType::TQ1_0, false, "1.7 bits per weight, for ternary models"},
    {"TQ2_0", 37, DType::TQ2_0, false, "2.1 bits per weight, for ternary models"},
    {"F16", 1, DType::F16, false, "16-bit floats"},
    {"BF16", 32, DType::BF16, false, "16-bit floats with the range of 32-bit ones"},
    {"F32", 0, DType::F32, false, "32-bit floats"},
    {"COPY", 0, DType::F32, true, "every tensor as it is: joins split files"},
};

struct Alias {
    std::string_view name, means;
};
constexpr Alias kAliases[] = {{"Q3_K", "Q3_K_M"}, {"Q4_K", "Q4_K_M"}, {"Q5_K", "Q5_K_M"}};

std::string upper(std::string_view text) {
    std::string result(text);
    for (char& c : result) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    return result;
}

}  // namespace

std::span<const FileType> file_types() {
    return kFileTypes;
}

const FileType& find_file_type(std::string_view name_or_number) {
    std::string wanted = upper(name_or_number);
    for (const Alias& alias : kAliases) {
        if (alias.name == wanted) wanted = alias.means;
    }
    for (const FileType& row : kFileTypes) {
        if (row.name == wanted || (!row.copy && std::to_string(row.number) == wanted)) return row;
    }
    std::string names;
    for (const FileType& row : kFileTypes) names += (names.empty() ? "" : ", ") + std::string(row.name);
    fail(ErrorKind::bad_argument, "'{}' is not a quantization type; the types are {}", name_or_number, names);
}

uint32_t file_type_number_of(DType type) {
    const auto row = std::ranges::find_if(kFileTypes, [&](const FileType& r) { return r.base == type; });
    return row == std::end(kFileTypes) ? 0 : row->number;
}

}  // namespace powerinfer::convert
