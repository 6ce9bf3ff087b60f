// The names and numbers of whole-file quantizations ("Q4_K_M" is 15): one table row per target.
// Not for which tensor gets which type inside a file: see mix.h.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/dtype.h"

namespace powerinfer::convert {

struct FileType {
    std::string_view name;  ///< as typed and printed, e.g. "Q4_K_M"
    uint32_t number;        ///< value of `general.file_type`
    DType base;             ///< type of most matrices; meaningless for COPY
    bool copy = false;      ///< COPY: every tensor keeps its type, the number is not written
    std::string_view note;  ///< one phrase for a help text
};

/// All targets, in the order in which a help text lists them.
std::span<const FileType> file_types();

/// By name (case does not matter; Q3_K, Q4_K, Q5_K mean their _M mixtures) or by number. Throws
/// Error{bad_argument} listing the names.
const FileType& find_file_type(std::string_view name_or_number);

/// The number to record for a file whose matrices are all of this type.
uint32_t file_type_number_of(DType type);

}  // namespace powerinfer::convert
