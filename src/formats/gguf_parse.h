// One file image to one GgufFile, with every check that needs no knowledge of the model. Internal to
// formats/: others use GgufFile::open and GgufFile::parse.
#pragma once

#include "formats/byte_reader.h"
#include "formats/gguf.h"

namespace powerinfer::formats {

class GgufParser {
  public:
    GgufParser(std::span<const uint8_t> image, const std::string& label)
        : image_(image), label_(label), reader_(image, label) {}
    GgufFile run();

    /// The type that an id of the container stands for; nothing when it is unknown or not read by this
    /// engine.
    static std::optional<DType> element_type(GgufMagic magic, uint32_t id);
    static uint32_t element_id(GgufMagic magic, DType type);

  private:
    void read_header();
    void read_keys();
    GgufValue read_value(const std::string& where);
    void read_array(GgufValue& value, const std::string& where);
    void read_alignment();
    void read_tensors();
    void read_shape(GgufTensor& tensor, const std::string& where);
    void place_tensors();
    void check_overlap() const;
    /// Counts what is held in memory against kGgufMaxMetadataBytes.
    void charge(uint64_t bytes, std::string_view where);

    std::span<const uint8_t> image_;
    std::string label_;
    ByteReader reader_;
    GgufFile file_;
    uint64_t n_tensors_ = 0;
    uint64_t n_keys_ = 0;
    uint64_t charged_ = 0;
};

}  // namespace powerinfer::formats
