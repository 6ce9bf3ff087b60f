// Reading little-endian numbers and texts from untrusted bytes, never past their end.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/error.h"

namespace powerinfer::formats {

static_assert(std::endian::native == std::endian::little,
              "the containers are read on little-endian machines only");

class ByteReader {
  public:
    /// `label` names the file in messages. The bytes must outlive the reader.
    ByteReader(std::span<const uint8_t> bytes, std::string label) : bytes_(bytes), label_(std::move(label)) {}

    size_t position() const { return position_; }
    size_t left() const { return bytes_.size() - position_; }

    /// The next number; `where` says in a message what was being read, e.g. "key 'general.name'".
    template <class T>
    T number(std::string_view where) {
        static_assert(std::is_arithmetic_v<T> && !std::is_same_v<T, bool>);
        T value;
        std::memcpy(&value, take(sizeof(T), where).data(), sizeof(T));
        return value;
    }

    std::span<const uint8_t> take(uint64_t size, std::string_view where) {
        if (size > left())
            fail(ErrorKind::bad_file,
                 "'{}': the file ends inside {}: {} bytes are wanted at byte {}, but only {} are left; the "
                 "file is "
                 "cut short or damaged",
                 label_, where, size, position_, left());
        const auto bytes = bytes_.subspan(position_, size);
        position_ += size;
        return bytes;
    }

    std::string_view text(uint64_t size, std::string_view where) {
        const auto bytes = take(size, where);
        return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    }

  private:
    std::span<const uint8_t> bytes_;
    std::string label_;
    size_t position_ = 0;
};

}  // namespace powerinfer::formats
