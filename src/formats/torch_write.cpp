#include "formats/torch_write.h"

#include <array>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/file_writer.h"
#include "formats/zip_reader.h"

namespace powerinfer::formats {
namespace {

constexpr uint64_t kAlignment = 64;  // of every entry's bytes, as PyTorch has it, so that they can be mapped

/// Little-endian bytes, appended.
template <class T>
void put(std::string& out, T value) {
    for (size_t i = 0; i < sizeof(T); ++i)
        out += static_cast<char>(static_cast<uint64_t>(value) >> 8 * i & 0xFFu);
}

/// Opcodes of protocol 2: _rebuild_tensor_v2(storage, 0, (n,), (1,), False, OrderedDict()).
std::string pickle_of(uint32_t n) {
    const auto text = [](std::string_view s) {
        std::string out = "X";
        put(out, static_cast<uint32_t>(s.size()));
        return out.append(s);
    };
    const auto number = [](uint32_t value) {
        std::string out = "J";
        put(out, value);
        return out;
    };
    return std::string(
               "\x80\x02"
               "ctorch._utils\n_rebuild_tensor_v2\n((") +
           text("storage") + "ctorch\nLongStorage\n" + text("0") + text("cpu") + number(n) + "tQ" +
           number(0) + number(n) + "\x85" + number(1) + "\x85\x89" + "ccollections\nOrderedDict\n)RtR.";
}

/// A zip archive of stored entries, written front to back.
class ZipWriter {
  public:
    explicit ZipWriter(const std::string& path) : file_(path) {}

    void add(const std::string& name, std::span<const uint8_t> bytes) {
        const uint32_t crc = crc32_of(bytes);
        const auto size = static_cast<uint32_t>(bytes.size());
        const auto offset = static_cast<uint32_t>(file_.position());
        constexpr uint64_t kHeader = 30, kExtraHead = 4;
        const uint64_t unpadded = offset + kHeader + name.size() + kExtraHead;
        const auto padding = static_cast<uint16_t>((kAlignment - unpadded % kAlignment) % kAlignment);
        std::string head;
        put<uint32_t>(head, 0x04034B50);
        put_common(head, crc, size, name);
        put<uint16_t>(head, static_cast<uint16_t>(kExtraHead + padding));
        head += name;
        put<uint16_t>(head, 0x4246);  // an extra field that PyTorch fills with padding
        put<uint16_t>(head, padding);
        head.append(padding, 'Z');
        file_.write(head.data(), head.size());
        file_.write(bytes.data(), bytes.size());

        put<uint32_t>(directory_, 0x02014B50);
        put<uint16_t>(directory_, 0);  // made by
        put_common(directory_, crc, size, name);
        put<uint16_t>(directory_, 0);  // extra field
        put<uint16_t>(directory_, 0);  // comment
        put<uint16_t>(directory_, 0);  // disk
        put<uint16_t>(directory_, 0);  // attributes inside
        put<uint32_t>(directory_, 0);  // attributes outside
        put<uint32_t>(directory_, offset);
        directory_ += name;
        ++n_entries_;
    }

    void finish() {
        const auto offset = static_cast<uint32_t>(file_.position());
        std::string end;
        put<uint32_t>(end, 0x06054B50);
        put<uint32_t>(end, 0);  // disks
        put<uint16_t>(end, n_entries_);
        put<uint16_t>(end, n_entries_);
        put<uint32_t>(end, static_cast<uint32_t>(directory_.size()));
        put<uint32_t>(end, offset);
        put<uint16_t>(end, 0);  // comment
        file_.write(directory_.data(), directory_.size());
        file_.write(end.data(), end.size());
        file_.commit();
    }

  private:
    /// What a local header and a directory entry share.
    static void put_common(std::string& out, uint32_t crc, uint32_t size, const std::string& name) {
        put<uint16_t>(out, 0);         // version needed
        put<uint16_t>(out, 0);         // flags
        put<uint16_t>(out, 0);         // stored
        put<uint32_t>(out, 0x210000);  // 1 January 1980
        put<uint32_t>(out, crc);
        put<uint32_t>(out, size);
        put<uint32_t>(out, size);
        put<uint16_t>(out, static_cast<uint16_t>(name.size()));
    }

    FileWriter file_;
    std::string directory_;
    uint16_t n_entries_ = 0;
};

std::span<const uint8_t> bytes_of(std::string_view text) {
    return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

}  // namespace

void write_torch_tensor(const std::string& path, std::span<const int64_t> values) {
    if (values.size_bytes() > 1u << 30)
        fail(ErrorKind::unsupported, "'{}' would hold {} numbers, more than are written", path,
             values.size());
    ZipWriter zip(path);
    zip.add("archive/data.pkl", bytes_of(pickle_of(static_cast<uint32_t>(values.size()))));
    zip.add("archive/byteorder", bytes_of("little"));
    zip.add("archive/data/0", {reinterpret_cast<const uint8_t*>(values.data()), values.size_bytes()});
    zip.add("archive/version", bytes_of("3\n"));
    zip.finish();
}

}  // namespace powerinfer::formats
