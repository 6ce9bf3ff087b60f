// The storage types of tensors: one table row per type with its name and block size.
// Not for the meaning of the bits: encode and decode live in quant/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace powerinfer {

/// Storage type of a tensor. The values are the type ids of the GGUF container.
enum class DType : uint32_t {
    F32 = 0, F16 = 1, Q4_0 = 2, Q4_1 = 3, Q5_0 = 6, Q5_1 = 7, Q8_0 = 8, Q8_1 = 9,
    Q2_K = 10, Q3_K = 11, Q4_K = 12, Q5_K = 13, Q6_K = 14, Q8_K = 15,
    IQ4_NL = 20, IQ4_XS = 23, I8 = 24, I16 = 25, I32 = 26, I64 = 27, F64 = 28,
    BF16 = 30, TQ1_0 = 34, TQ2_0 = 35, MXFP4 = 39,
};

/// Ids run from 0 to kDTypeIdEnd - 1; per-type tables are arrays of this size indexed by id.
inline constexpr size_t kDTypeIdEnd = 40;

struct DTypeInfo {
    DType type;
    std::string_view name;  ///< as printed everywhere, e.g. "Q4_K"
    int block;              ///< elements per block
    int bytes;              ///< bytes per block
};

/// The row of a type that exists. Precondition: `type` came from find_dtype or is a named constant.
const DTypeInfo& info(DType type);

/// The type with this container id, or nothing if the id is unknown, removed, or a type we do not read.
std::optional<DType> find_dtype(uint32_t id);

/// The type with this name; case does not matter.
std::optional<DType> find_dtype(std::string_view name);

/// A human name for any container id, also for removed and unsupported ones ("IQ2_XXS", "unknown type 9999").
std::string_view dtype_id_name(uint32_t id);

/// Bytes of one row of n elements. Precondition: n is a multiple of the block size.
inline size_t row_bytes(DType type, int64_t n) {
    const DTypeInfo& t = info(type);
    return static_cast<size_t>(n / t.block) * static_cast<size_t>(t.bytes);
}

}  // namespace powerinfer
