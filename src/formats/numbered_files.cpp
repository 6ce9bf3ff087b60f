#include "formats/numbered_files.h"

#include <charconv>
#include <filesystem>
#include <map>

#include "base/error.h"

namespace powerinfer::formats {
namespace {

namespace fs = std::filesystem;

/// N of "<start>N.pt", or nothing for other names.
std::optional<int64_t> number_of(const std::string& name, std::string_view start) {
    constexpr std::string_view kEnd = ".pt";
    if (name.size() <= start.size() + kEnd.size() || !name.starts_with(start) || !name.ends_with(kEnd))
        return std::nullopt;
    int64_t n = 0;
    const char *begin = name.data() + start.size(), *end = name.data() + name.size() - kEnd.size();
    const auto [stop, error] = std::from_chars(begin, end, n);
    return error == std::errc() && stop == end && n >= 0 ? std::optional(n) : std::nullopt;
}

}  // namespace

std::vector<std::string> numbered_files(const std::string& folder, std::string_view start,
                                        std::string_view what, std::optional<int64_t> n_layer) {
    if (!fs::is_directory(folder)) fail(ErrorKind::io, "the {} folder '{}' does not exist", what, folder);
    std::map<int64_t, std::string> files;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
        const auto n = number_of(entry.path().filename().string(), start);
        if (!n) continue;
        const auto [it, added] = files.emplace(*n, entry.path().string());
        if (!added)
            fail(ErrorKind::bad_file, "'{}' and '{}' are both {}s of layer {}; one would be right",
                 it->second, entry.path().string(), what, *n);
    }
    if (!n_layer && files.empty())
        fail(ErrorKind::bad_file, "the {} folder '{}' has no {}0.pt, {}1.pt and so on", what, folder, start,
             start);
    if (n_layer) {
        if (const auto extra = files.upper_bound(*n_layer - 1); extra != files.end())
            fail(ErrorKind::bad_file,
                 "'{}' is a {} of layer {}, but the model has {} layers, numbered from 0", extra->second,
                 what, extra->first, *n_layer);
    }
    std::vector<std::string> paths;
    const int64_t last = n_layer ? *n_layer - 1 : files.rbegin()->first;
    for (int64_t n = 0; n <= last; ++n) {
        const auto file = files.find(n);
        if (file == files.end())
            fail(ErrorKind::bad_file,
                 "the {} folder '{}' has no {}{}.pt; {}, so {}0.pt to {}{}.pt would be right", what, folder,
                 start, n,
                 n_layer ? fmt::format("the model has {} layers", *n_layer)
                         : fmt::format("there is a {}{}.pt", start, last),
                 start, start, last);
        paths.push_back(file->second);
    }
    return paths;
}

}  // namespace powerinfer::formats
