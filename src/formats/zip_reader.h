// The table of a zip archive whose entries are stored without compression. Internal to formats/: torch
// archives. Source: PKWARE's APPNOTE; zip64 is read, encryption and compression are refused by name.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace powerinfer::formats {

struct ZipEntry {
    std::span<const uint8_t> bytes;  ///< inside the archive
    uint32_t crc = 0;                ///< CRC-32 of the bytes by the directory; 0 where the writer left it out
};
using ZipEntries = std::map<std::string, ZipEntry, std::less<>>;

/// The entries by name. Their bytes are not looked at. Throws Error{bad_file | unsupported} naming `label` and
/// entry.
ZipEntries read_zip(std::span<const uint8_t> archive, const std::string& label);

uint32_t crc32_of(std::span<const uint8_t> bytes);

/// Throws Error{bad_file} naming `label` and entry where the bytes are not those that were written.
void check_crc(const ZipEntry& entry, std::string_view name, const std::string& label);

}  // namespace powerinfer::formats
