// A small machine that reads the pickles of tensor dictionaries and executes nothing. Internal to formats/.
// It knows the opcodes that torch.save emits (protocols 2 to 5) and the globals listed in pickle.cpp; every
// other opcode and global is refused by name. Source: the pickletools module of Python describes the opcodes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace powerinfer::formats {

/// Values refer to each other by index, so that neither depth nor cycles can hurt.
struct PickleValue {
    enum class Kind {
        scalar,  ///< none, a float or a number too large to matter
        boolean,
        integer,
        text,
        tuple,
        list,
        dict,     ///< items are key, value, key, value, ...
        global,   ///< text is "module.name"
        storage,  ///< text is the key of the data entry, dtype its safetensors name, integer its elements
        tensor,   ///< items are storage, offset, shape tuple, stride tuple
    };
    Kind kind = Kind::scalar;
    int64_t integer = 0;
    std::string text = {};
    std::string_view dtype = {};
    std::vector<uint32_t> items = {};
};

struct Pickle {
    std::vector<PickleValue> values;
    uint32_t root = 0;

    const PickleValue& at(uint32_t i) const { return values[i]; }
};

/// Throws Error{bad_file | unsupported} naming `label`.
Pickle read_pickle(std::span<const uint8_t> bytes, const std::string& label);

}  // namespace powerinfer::formats
