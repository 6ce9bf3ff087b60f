// The table of a zip archive whose entries are stored without compression. Internal to formats/: torch
// archives. Source: PKWARE's APPNOTE; zip64 is read, encryption and compression are refused by name.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

namespace powerinfer::formats {

/// The bytes of each entry by name, inside `archive`. Throws Error{bad_file | unsupported} naming `label` and
/// entry.
std::map<std::string, std::span<const uint8_t>, std::less<>> read_zip(std::span<const uint8_t> archive,
                                                                      const std::string& label);

}  // namespace powerinfer::formats
