#include "formats/zip_reader.h"

#include <array>
#include <cstring>
#include <optional>

#include "base/error.h"
#include "formats/byte_reader.h"
#include "formats/recognise.h"

namespace powerinfer::formats {
namespace {

constexpr uint32_t kEndMagic = 0x06054B50, kEnd64Magic = 0x06064B50, kLocator64Magic = 0x07064B50;
constexpr uint32_t kEntryMagic = 0x02014B50, kLocalMagic = 0x04034B50;
constexpr size_t kEndBytes = 22, kLocator64Bytes = 20, kEntryBytes = 46;
constexpr size_t kMaxComment = 65535;

struct Directory {
    uint64_t offset, size, n_entries;
};

[[noreturn]] void fail_damaged(const std::string& label, std::string_view what) {
    fail(ErrorKind::bad_file, "'{}': the zip archive is damaged or cut short: {}", label, what);
}

/// Where the central directory lies: found from the end of the archive, which may carry a comment.
Directory find_directory(std::span<const uint8_t> archive, const std::string& label) {
    std::optional<size_t> end;
    const size_t size = archive.size();
    for (size_t back = kEndBytes; back <= size && back <= kEndBytes + kMaxComment && !end; ++back) {
        uint32_t magic;
        std::memcpy(&magic, archive.data() + size - back, sizeof(magic));
        if (magic == kEndMagic) end = size - back;
    }
    if (!end) fail_damaged(label, "it has no end record");
    ByteReader reader(archive.subspan(*end + 4), label);
    const auto disk = reader.number<uint16_t>("the end record");
    const auto first_disk = reader.number<uint16_t>("the end record");
    reader.take(2, "the end record");
    Directory d{};
    d.n_entries = reader.number<uint16_t>("the end record");
    d.size = reader.number<uint32_t>("the end record");
    d.offset = reader.number<uint32_t>("the end record");
    const bool is_64 = d.n_entries == 0xFFFF || d.size == 0xFFFFFFFF || d.offset == 0xFFFFFFFF;
    if (is_64 && *end >= kLocator64Bytes) {
        ByteReader locator(archive.subspan(*end - kLocator64Bytes), label);
        if (locator.number<uint32_t>("the zip64 locator") == kLocator64Magic) {
            locator.take(4, "the zip64 locator");
            const auto at = locator.number<uint64_t>("the zip64 locator");
            if (at > size) fail_damaged(label, "its zip64 end record lies outside the file");
            ByteReader end64(archive.subspan(at), label);
            if (end64.number<uint32_t>("the zip64 end record") != kEnd64Magic)
                fail_damaged(label, "its zip64 end record is not where it should be");
            end64.take(8 + 2 + 2 + 4 + 4 + 8, "the zip64 end record");
            d.n_entries = end64.number<uint64_t>("the zip64 end record");
            d.size = end64.number<uint64_t>("the zip64 end record");
            d.offset = end64.number<uint64_t>("the zip64 end record");
        }
    } else if (disk != 0 || first_disk != 0) {
        fail(ErrorKind::unsupported, "'{}' is a zip archive of several volumes, which is not supported",
             label);
    }
    if (d.offset > *end || d.size > *end - d.offset)
        fail_damaged(label, "its directory lies outside the file");
    if (d.n_entries > d.size / kEntryBytes)
        fail_damaged(label,
                     fmt::format("it counts {} entries in a directory of {} bytes", d.n_entries, d.size));
    return d;
}

/// Replaces the 32-bit fields that are full by those of the zip64 extra field.
void widen(std::span<const uint8_t> extra, const std::string& label,
           std::initializer_list<uint64_t*> fields) {
    ByteReader reader(extra, label);
    while (reader.left() >= 4) {
        const auto id = reader.number<uint16_t>("an extra field");
        const auto size = reader.number<uint16_t>("an extra field");
        ByteReader field(reader.take(size, "an extra field"), label);
        if (id != 1) continue;
        for (uint64_t* f : fields) {
            if (*f == 0xFFFFFFFF) *f = field.number<uint64_t>("a zip64 extra field");
        }
    }
}

/// tables[k][b]: what a byte b does to the sum when k more bytes follow. Polynomial of IEEE 802.3, bits reversed.
constexpr auto kCrcTables = [] {
    std::array<std::array<uint32_t, 256>, 8> t{};
    for (uint32_t b = 0; b < 256; ++b) {
        uint32_t sum = b;
        for (int i = 0; i < 8; ++i) sum = sum >> 1 ^ (sum & 1u ? 0xEDB88320u : 0u);
        t[0][b] = sum;
    }
    for (size_t k = 1; k < 8; ++k)
        for (size_t b = 0; b < 256; ++b) t[k][b] = t[k - 1][b] >> 8 ^ t[0][t[k - 1][b] & 0xFFu];
    return t;
}();

}  // namespace

/// Eight bytes a step: archives hold gigabytes.
uint32_t crc32_of(std::span<const uint8_t> bytes) {
    const auto& t = kCrcTables;
    uint32_t sum = ~0u;
    size_t i = 0;
    for (; i + 8 <= bytes.size(); i += 8) {
        uint64_t word;
        std::memcpy(&word, bytes.data() + i, sizeof(word));
        word ^= sum;
        sum = 0;
        for (size_t k = 0; k < 8; ++k) sum ^= t[7 - k][word >> 8 * k & 0xFFu];
    }
    for (; i < bytes.size(); ++i) sum = sum >> 8 ^ t[0][(sum ^ bytes[i]) & 0xFFu];
    return ~sum;
}

void check_crc(const ZipEntry& entry, std::string_view name, const std::string& label) {
    if (entry.crc == 0) return;  // torch.save can be told not to compute it
    const uint32_t found = crc32_of(entry.bytes);
    if (found != entry.crc)
        fail_damaged(label, fmt::format("entry '{}' has the CRC {:08x}, its directory says {:08x}", shown(name), found,
                                        entry.crc));
}

ZipEntries read_zip(std::span<const uint8_t> archive, const std::string& label) {
    const Directory directory = find_directory(archive, label);
    ZipEntries entries;
    ByteReader reader(archive.subspan(directory.offset, directory.size), label);
    for (uint64_t i = 0; i < directory.n_entries; ++i) {
        constexpr std::string_view kWhere = "the zip directory";
        if (reader.number<uint32_t>(kWhere) != kEntryMagic)
            fail_damaged(label, "its directory is not a directory");
        reader.take(4, kWhere);  // versions
        const auto flags = reader.number<uint16_t>(kWhere);
        const auto method = reader.number<uint16_t>(kWhere);
        reader.take(4, kWhere);  // time, date
        const auto crc = reader.number<uint32_t>(kWhere);
        uint64_t stored = reader.number<uint32_t>(kWhere);
        uint64_t size = reader.number<uint32_t>(kWhere);
        const auto name_bytes = reader.number<uint16_t>(kWhere);
        const auto extra_bytes = reader.number<uint16_t>(kWhere);
        const auto comment_bytes = reader.number<uint16_t>(kWhere);
        reader.take(8, kWhere);  // disk, attributes
        uint64_t offset = reader.number<uint32_t>(kWhere);
        std::string name(reader.text(name_bytes, kWhere));
        const std::string where = fmt::format("entry '{}'", shown(name));
        widen(reader.take(extra_bytes, kWhere), label, {&size, &stored, &offset});
        reader.take(comment_bytes, kWhere);

        if (flags & 1u) fail(ErrorKind::unsupported, "'{}': {} is encrypted", label, where);
        if (method != 0)
            fail(ErrorKind::unsupported,
                 "'{}': {} is compressed (method {}{}), but only stored entries are read; save the file "
                 "again with "
                 "torch.save or `zip -0`",
                 label, where, method, method == 8 ? ", deflate" : "");
        if (stored != size) fail_damaged(label, where + " is stored, but its two sizes differ");
        if (offset > directory.offset) fail_damaged(label, where + " lies outside the file");
        // The local header has lengths of its own for name and extra field; sizes may be missing there.
        ByteReader local(archive.subspan(offset), label);
        if (local.number<uint32_t>(where) != kLocalMagic) fail_damaged(label, where + " has no header");
        local.take(22, where);
        const auto local_name_bytes = local.number<uint16_t>(where);
        const auto local_extra_bytes = local.number<uint16_t>(where);
        if (local.text(local_name_bytes, where) != name)
            fail_damaged(label, where + " has another name in its header");
        local.take(local_extra_bytes, where);
        const auto bytes = local.take(size, where);
        if (!entries.emplace(std::move(name), ZipEntry{bytes, crc}).second) fail_damaged(label, where + " occurs twice");
    }
    return entries;
}

}  // namespace powerinfer::formats
