// Zip archives and pickles made by hand, sound or damaged at will, with the place of every number remembered.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/image.h"

namespace powerinfer::test {

/// An archive of stored entries. With `zip64`, sizes and offsets stand in the 64-bit records only.
struct RawZip {
    std::vector<std::pair<std::string, std::vector<uint8_t>>> entries;
    bool zip64 = false;
    std::vector<uint32_t> crcs = {};  ///< of the entries; those left out are 0: not computed
    uint16_t method = 0, flags = 0;
    std::string comment;

    Image build() const {
        Image out;
        std::vector<size_t> starts;
        for (const auto& [name, bytes] : entries) {
            starts.push_back(out.bytes.size());
            out.raw<uint32_t>(0x04034B50);
            for (int i = 0; i < 11; ++i) out.raw<uint16_t>(0);  // what the directory says again
            out.field<uint16_t>(static_cast<uint16_t>(name.size()), "local name length");
            out.field<uint16_t>(4, "local extra length");
            out.text(name);
            out.raw<uint32_t>(0x00004246);  // an extra field "FB" of no bytes
            out.bytes.insert(out.bytes.end(), bytes.begin(), bytes.end());
        }
        const size_t directory = out.bytes.size();
        for (size_t i = 0; i < entries.size(); ++i) {
            const auto& [name, bytes] = entries[i];
            const auto narrow = [&](uint64_t n) { return zip64 ? 0xFFFFFFFFu : static_cast<uint32_t>(n); };
            out.raw<uint32_t>(0x02014B50);
            out.raw<uint32_t>(0);
            out.field<uint16_t>(flags, "flags");
            out.field<uint16_t>(method, "method");
            out.raw<uint32_t>(0);
            out.raw<uint32_t>(i < crcs.size() ? crcs[i] : 0);
            out.field<uint32_t>(narrow(bytes.size()), "stored size");
            out.field<uint32_t>(narrow(bytes.size()), "size");
            out.field<uint16_t>(static_cast<uint16_t>(name.size()), "name length");
            out.field<uint16_t>(zip64 ? 28 : 0, "extra length");
            out.field<uint16_t>(0, "comment length");
            out.raw<uint64_t>(0);
            out.field<uint32_t>(narrow(starts[i]), "offset");
            out.text(name);
            if (zip64) {
                out.field<uint16_t>(1, "extra id");
                out.field<uint16_t>(24, "extra size");
                out.field<uint64_t>(bytes.size(), "zip64 size");
                out.field<uint64_t>(bytes.size(), "zip64 stored size");
                out.field<uint64_t>(starts[i], "zip64 offset");
            }
        }
        const size_t end = out.bytes.size();
        if (zip64) {
            out.raw<uint32_t>(0x06064B50);
            out.raw<uint64_t>(44);
            for (int i = 0; i < 3; ++i) out.raw<uint32_t>(0);
            out.raw<uint64_t>(entries.size());
            out.field<uint64_t>(entries.size(), "zip64 entries");
            out.field<uint64_t>(end - directory, "zip64 directory size");
            out.field<uint64_t>(directory, "zip64 directory offset");
            out.raw<uint32_t>(0x07064B50);
            out.raw<uint32_t>(0);
            out.field<uint64_t>(end, "zip64 end offset");
            out.raw<uint32_t>(1);
        }
        out.raw<uint32_t>(0x06054B50);
        out.field<uint16_t>(0, "disk");
        out.field<uint16_t>(0, "first disk");
        out.raw<uint16_t>(0);
        out.field<uint16_t>(zip64 ? 0xFFFF : static_cast<uint16_t>(entries.size()), "entries");
        out.field<uint32_t>(zip64 ? 0xFFFFFFFFu : static_cast<uint32_t>(end - directory), "directory size");
        out.field<uint32_t>(zip64 ? 0xFFFFFFFFu : static_cast<uint32_t>(directory), "directory offset");
        out.field<uint16_t>(static_cast<uint16_t>(comment.size()), "comment length");
        out.text(comment);
        return out;
    }
};

/// Opcodes of protocol 2, joined to a program.
namespace pickle {
inline std::string number(int64_t n) {
    if (n >= 0 && n < 256) return std::string("K") + static_cast<char>(n);
    std::string out = "\x8A\x08";
    for (int i = 0; i < 8; ++i) out += static_cast<char>(static_cast<uint64_t>(n) >> 8 * i & 0xFFu);
    return out;
}
inline std::string text(std::string_view s) {
    std::string out = "X";
    for (int i = 0; i < 4; ++i) out += static_cast<char>(s.size() >> 8 * i & 0xFFu);
    return out += s;
}
inline std::string global(std::string_view module, std::string_view name) {
    return std::string("c").append(module).append("\n").append(name).append("\n");
}
inline std::string numbers(const std::vector<int64_t>& n) {
    std::string out = "(";
    for (const int64_t x : n) out += number(x);
    return out + "t";
}
struct Tensor {
    std::string storage = "FloatStorage", key = "0";
    int64_t n_stored = 6, offset = 0;
    std::vector<int64_t> shape = {2, 3}, strides = {3, 1};
};
inline std::string tensor(const Tensor& t) {
    return global("torch._utils", "_rebuild_tensor_v2") + "((" + text("storage") +
           global("torch", t.storage) + text(t.key) + text("cpu") + number(t.n_stored) + "tQ" +
           number(t.offset) + numbers(t.shape) + numbers(t.strides) + "\x89" +
           global("collections", "OrderedDict") + ")RtR";
}
inline std::string dict(const std::vector<std::pair<std::string, std::string>>& items) {
    std::string out = "}(";
    for (const auto& [key, value] : items) out += text(key) + value;
    return out + "u";
}
inline std::string program(const std::string& value) {
    return "\x80\x02" + value + ".";
}
}  // namespace pickle

inline std::vector<uint8_t> bytes_of(std::string_view s) {
    return {s.begin(), s.end()};
}

/// A file with one data entry '0' of six floats 0 to 5 (24 bytes).
inline RawZip torch_file(const std::string& value) {
    std::vector<uint8_t> data(24);
    for (int i = 0; i < 6; ++i) {
        const auto f = static_cast<float>(i);
        std::memcpy(data.data() + 4 * i, &f, 4);
    }
    RawZip zip;
    zip.entries = {{"m/data.pkl", bytes_of(pickle::program(value))},
                   {"m/byteorder", bytes_of("little")},
                   {"m/data/0", data},
                   {"m/version", bytes_of("3\n")}};
    return zip;
}

}  // namespace powerinfer::test
