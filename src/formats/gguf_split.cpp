// Opening a file by path: one file, or the first of a set whose other parts lie beside it.
#include <charconv>
#include <filesystem>

#include "base/error.h"
#include "formats/gguf.h"
#include "formats/gguf_parse.h"
#include "formats/recognise.h"

namespace powerinfer::formats {
namespace {

/// PREFIX-00002-of-00003.gguf taken apart; numbers count from 1.
struct PartName {
    std::string prefix;
    uint64_t number, count;
};

std::optional<PartName> take_apart(const std::string& path) {
    constexpr std::string_view kSuffix = ".gguf";
    constexpr size_t kTail = std::string_view("-00001-of-00003").size();
    if (path.size() <= kTail + kSuffix.size() || !std::string_view(path).ends_with(kSuffix))
        return std::nullopt;
    const size_t start = path.size() - kSuffix.size() - kTail;
    const std::string_view tail = std::string_view(path).substr(start, kTail);
    PartName part{path.substr(0, start), 0, 0};
    const auto digits = [&](size_t at, uint64_t& out) {
        const char* end = tail.data() + at + 5;
        return std::from_chars(tail.data() + at, end, out).ptr == end;
    };
    if (tail[0] != '-' || tail.substr(6, 4) != "-of-" || !digits(1, part.number) || !digits(10, part.count))
        return std::nullopt;
    return part;
}

std::string part_path(const std::string& prefix, uint64_t number, uint64_t count) {
    return fmt::format("{}-{:05}-of-{:05}.gguf", prefix, number, count);
}

}  // namespace

GgufFile GgufFile::open(const std::string& path) {
    MappedFile mapped(path);
    GgufFile file = GgufParser(mapped.bytes(), path).run();
    file.parts_.push_back(std::move(mapped));
    if (file.get_uint("split.count", 1) > 1) file.open_other_parts(path);
    return file;
}

void GgufFile::open_other_parts(const std::string& path) {
    const uint64_t count = get_uint("split.count");
    const uint64_t number = get_uint("split.no", 0) + 1;
    const std::optional<PartName> name = take_apart(path);
    // A joined model may still carry its split keys: what counts is whether its tensors are all here.
    const uint64_t n_tensors = get_uint("split.tensors.count", 0);
    if (n_tensors > 0 && tensors_.size() >= n_tensors) return;
    if (!name && n_tensors == 0 && number == 1) return;
    if (!name)
        fail(ErrorKind::bad_file,
             "'{}' is part {} of {} of a split model and holds {} of its {} tensors, but its name does not "
             "end in "
             "'-{:05}-of-{:05}.gguf', so the other parts cannot be found",
             path, number, count, tensors_.size(), n_tensors, number, count);
    if (name->count != count || name->number != number)
        fail(ErrorKind::bad_file,
             "'{}' says in its keys 'split.no' and 'split.count' that it is part {} of {}, but its name says "
             "part {} "
             "of {}; it has been renamed or damaged",
             path, number, count, name->number, name->count);
    if (number != 1)
        fail(ErrorKind::bad_argument, "'{}' is part {} of {} of a split model; pass the first part '{}'",
             path, number, count, part_path(name->prefix, 1, count));

    for (uint64_t i = 2; i <= count; ++i) {
        const std::string other_path = part_path(name->prefix, i, count);
        if (!std::filesystem::exists(other_path))
            fail(ErrorKind::io,
                 "'{}' is the first of {} parts of a split model, but part {} is missing: '{}'", path, count,
                 i, other_path);
        MappedFile mapped(other_path);
        GgufFile other = GgufParser(mapped.bytes(), other_path).run();
        if (other.magic_ != magic_)
            fail(ErrorKind::bad_file,
                 "'{}' and '{}' are parts of one model but differ in their magic, GGUF and PWRI", path,
                 other_path);
        if (other.get_uint("split.count", 0) != count || other.get_uint("split.no", 0) + 1 != i)
            fail(ErrorKind::bad_file,
                 "'{}' says in its keys 'split.no' and 'split.count' that it is part {} of {}, expected part "
                 "{} of {}",
                 other_path, other.get_uint("split.no", 0) + 1, other.get_uint("split.count", 0), i, count);
        for (GgufTensor& tensor : other.tensors_) {
            if (const GgufTensor* first = find_tensor(tensor.name))
                fail(ErrorKind::bad_file, "'{}': tensor '{}' is also in part {} of the split model",
                     other_path, shown(tensor.name), first->part + 1);
            tensor.part = static_cast<int>(i - 1);
            tensor_index_.emplace(tensor.name, tensors_.size());
            tensors_.push_back(std::move(tensor));
        }
        parts_.push_back(std::move(mapped));
    }
    if (has("split.tensors.count") && tensors_.size() != n_tensors)
        fail(ErrorKind::bad_file, "'{}': key 'split.tensors.count' is {}, but the {} parts hold {} tensors",
             path, n_tensors, count, tensors_.size());
}

}  // namespace powerinfer::formats
