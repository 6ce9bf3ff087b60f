// Where the numbers of a sound GGUF file lie: counts, lengths, types, dimensions, offsets and values that are numbers.
// For files whose soundness is known; nothing is checked.
#pragma once

#include "formats/image.h"

namespace powerinfer::test {

/// An image of the file with every such number remembered; of the items of an array only every `stride`-th.
class GgufFields {
  public:
    explicit GgufFields(std::vector<uint8_t> bytes, uint64_t stride) : stride_(stride) {
        image_.bytes = std::move(bytes);
        at_ = 4;
        number(4, "version");
        const uint64_t n_tensors = number(8, "number of tensors"), n_keys = number(8, "number of keys");
        for (uint64_t i = 0; i < n_keys; ++i) {
            const std::string key = text("a key");
            value(number(4, "type of " + key), key);
        }
        for (uint64_t i = 0; i < n_tensors; ++i) {
            const std::string name = text("a tensor's name");
            const uint64_t n_dims = number(4, "n_dims of " + name);
            for (uint64_t d = 0; d < n_dims; ++d) number(8, "dimension of " + name);
            number(4, "type of " + name);
            number(8, "offset of " + name);
        }
    }
    const Image& image() const { return image_; }

  private:
    uint64_t number(size_t n_bytes, const std::string& what, bool remember = true) {
        const Field field{at_, n_bytes, what};
        at_ += n_bytes;
        if (remember) image_.fields.push_back(field);
        return field_value(image_, field);
    }
    std::string text(const std::string& what, bool remember = true) {
        const uint64_t n = number(8, "length of " + what, remember);
        at_ += n;
        return {image_.bytes.begin() + static_cast<ptrdiff_t>(at_ - n), image_.bytes.begin() + static_cast<ptrdiff_t>(at_)};
    }
    void value(uint64_t type, const std::string& key, bool remember = true) {
        constexpr uint64_t kString = 8, kArray = 9;
        constexpr size_t kBytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
        if (type == kString) {
            text(key, remember);
        } else if (type == kArray) {
            const uint64_t element = number(4, "element type of " + key), n = number(8, "items of " + key);
            for (uint64_t i = 0; i < n; ++i) value(element, "item of " + key, i % stride_ == 0);
        } else {
            number(kBytes[type], "value of " + key, remember);
        }
    }

    Image image_;
    uint64_t stride_;
    size_t at_ = 0;
};

}  // namespace powerinfer::test
