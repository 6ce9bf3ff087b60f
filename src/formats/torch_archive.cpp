#include "formats/torch_archive.h"

#include <cstring>
#include <limits>
#include <optional>
#include <set>

#include "base/error.h"
#include "formats/pickle.h"
#include "formats/recognise.h"
#include "formats/zip_reader.h"

namespace powerinfer::formats {
namespace {

using Kind = PickleValue::Kind;

constexpr int kMaxDepth = 32;           ///< containers inside each other
constexpr size_t kMaxVisits = 500'000;  ///< values met on all paths
constexpr size_t kMaxPathBytes = 512;
constexpr size_t kMaxDims = 8;
constexpr int64_t kMaxInt = std::numeric_limits<int64_t>::max();

/// Elements of a strided view: strides and offset count elements.
struct Layout {
    int64_t offset = 0, n_elements = 1;
    std::vector<int64_t> shape, strides;

    bool contiguous() const {
        int64_t expected = 1;
        for (size_t d = shape.size(); d-- > 0;) {
            if (shape[d] != 1 && strides[d] != expected) return false;
            expected *= shape[d];
        }
        return true;
    }
};

}  // namespace

class TorchReader {
  public:
    TorchReader(std::span<const uint8_t> image, const std::string& label) : image_(image), label_(label) {}
    TorchArchive run();

  private:
    void visit(uint32_t index, const std::string& path, int depth);
    void add_tensor(const PickleValue& tensor, const std::string& path);
    Layout read_layout(const PickleValue& tensor, int64_t n_stored, const std::string& where) const;
    std::span<const uint8_t> copy_out(const Layout& layout, std::span<const uint8_t> storage,
                                      size_t element_bytes, const std::string& where);

    std::span<const uint8_t> image_;
    std::string label_, folder_;
    /// Its bytes, checked against their CRC the first time; nothing where there is no such entry.
    std::optional<std::span<const uint8_t>> read(const std::string& name);

    ZipEntries entries_;
    std::set<std::string> checked_;
    Pickle pickle_;
    TorchArchive archive_;
    size_t n_visits_ = 0;
    uint64_t copied_ = 0;
};

TorchArchive TorchReader::run() {
    if (image_.empty()) fail(ErrorKind::bad_file, "'{}' is empty, expected a PyTorch file", label_);
    if (image_[0] == 0x80)
        fail(ErrorKind::unsupported,
             "'{}' is a bare pickle, as PyTorch wrote before version 1.6; load it with torch.load and save "
             "it again "
             "with torch.save",
             label_);
    if (image_.size() < 4 || std::memcmp(image_.data(), "PK\x03\x04", 4) != 0)
        fail(ErrorKind::bad_file, "'{}' is not a PyTorch file: {}", label_, describe_start(image_));
    entries_ = read_zip(image_, label_);
    constexpr std::string_view kPickle = "/data.pkl";
    for (const auto& [name, entry] : entries_) {
        if (!std::string_view(name).ends_with(kPickle)) continue;
        if (!folder_.empty()) fail(ErrorKind::bad_file, "'{}' holds more than one data.pkl", label_);
        folder_ = name.substr(0, name.size() - kPickle.size() + 1);
        pickle_ = read_pickle(*read(name), label_);
    }
    if (folder_.empty())
        fail(ErrorKind::bad_file, "'{}' is a zip archive without data.pkl, so it is not a PyTorch file",
             label_);
    const auto order = read(folder_ + "byteorder");
    if (order && std::string(order->begin(), order->end()) != "little")
        fail(ErrorKind::unsupported, "'{}' is a big-endian file; only little-endian files are read", label_);
    visit(pickle_.root, "", 0);
    return std::move(archive_);
}

std::optional<std::span<const uint8_t>> TorchReader::read(const std::string& name) {
    const auto entry = entries_.find(name);
    if (entry == entries_.end()) return std::nullopt;
    if (checked_.insert(name).second) check_crc(entry->second, name, label_);
    return entry->second.bytes;
}

void TorchReader::visit(uint32_t index, const std::string& path, int depth) {
    if (depth > kMaxDepth || ++n_visits_ > kMaxVisits || path.size() > kMaxPathBytes)
        fail(ErrorKind::bad_file, "'{}': its containers hold too much or each other, at '{}'", label_,
             shown(path));
    const PickleValue& value = pickle_.at(index);
    const auto join = [&](const std::string& name) { return path.empty() ? name : path + "." + name; };
    switch (value.kind) {
        case Kind::tensor:
            add_tensor(value, path);
            break;
        case Kind::tuple:
        case Kind::list:
            for (size_t i = 0; i < value.items.size(); ++i)
                visit(value.items[i], join(std::to_string(i)), depth + 1);
            break;
        case Kind::dict:
            for (size_t i = 0; i < value.items.size(); i += 2) {
                const PickleValue& key = pickle_.at(value.items[i]);
                if (key.kind != Kind::text && key.kind != Kind::integer)
                    fail(ErrorKind::unsupported,
                         "'{}': a dict at '{}' has a key that is neither text nor number", label_,
                         shown(path));
                visit(value.items[i + 1],
                      join(key.kind == Kind::text ? key.text : std::to_string(key.integer)), depth + 1);
            }
            break;
        default:
            break;
    }
}

Layout TorchReader::read_layout(const PickleValue& tensor, int64_t n_stored, const std::string& where) const {
    const auto numbers = [&](uint32_t index, std::string_view what) {
        std::vector<int64_t> out;
        for (const uint32_t i : pickle_.at(index).items) {
            const PickleValue& n = pickle_.at(i);
            if (n.kind != Kind::integer || n.integer < 0)
                fail(ErrorKind::bad_file, "{} has a {} that is not a number of at least 0", where, what);
            out.push_back(n.integer);
        }
        return out;
    };
    Layout layout;
    layout.offset = pickle_.at(tensor.items[1]).integer;
    layout.shape = numbers(tensor.items[2], "dimension");
    layout.strides = numbers(tensor.items[3], "stride");
    if (layout.offset < 0)
        fail(ErrorKind::bad_file, "{} has offset {}, expected at least 0", where, layout.offset);
    if (layout.shape.size() != layout.strides.size() || layout.shape.size() > kMaxDims)
        fail(ErrorKind::bad_file, "{} has {} dimensions and {} strides, expected as many of both, at most {}",
             where, layout.shape.size(), layout.strides.size(), kMaxDims);
    int64_t last = layout.offset;  // index of the last element
    bool fits = true;
    for (size_t d = 0; d < layout.shape.size(); ++d) {
        int64_t reach = 0;
        fits = fits && !__builtin_mul_overflow(layout.n_elements, layout.shape[d], &layout.n_elements) &&
               !__builtin_mul_overflow(layout.shape[d] > 0 ? layout.shape[d] - 1 : 0, layout.strides[d],
                                       &reach) &&
               !__builtin_add_overflow(last, reach, &last);
        if (layout.shape[d] == 1) layout.strides[d] = 0;  // never taken, so it may be any number
    }
    if (!fits || layout.n_elements > kMaxInt / 8 || (layout.n_elements > 0 && last >= n_stored) ||
        layout.offset > n_stored)
        fail(ErrorKind::bad_file, "{} reaches beyond the {} elements of its storage", where, n_stored);
    return layout;
}

std::span<const uint8_t> TorchReader::copy_out(const Layout& layout, std::span<const uint8_t> storage,
                                               size_t element_bytes, const std::string& where) {
    const uint64_t n_bytes = static_cast<uint64_t>(layout.n_elements) * element_bytes;
    const uint64_t budget = 2 * image_.size();
    if (n_bytes > budget - copied_)
        fail(ErrorKind::unsupported,
             "{} repeats its elements (a stride of 0?) to more than twice the size of the file; save it with "
             ".contiguous().clone() where it is that large",
             where);
    copied_ += n_bytes;
    std::vector<uint8_t>& out = archive_.copies_.emplace_back(n_bytes);
    std::vector<int64_t> at(layout.shape.size(), 0);
    int64_t from = layout.offset;
    for (int64_t i = 0; i < layout.n_elements; ++i) {
        std::memcpy(out.data() + static_cast<size_t>(i) * element_bytes,
                    storage.data() + static_cast<size_t>(from) * element_bytes, element_bytes);
        for (size_t d = layout.shape.size(); d-- > 0;) {
            from += layout.strides[d];
            if (++at[d] < layout.shape[d]) break;
            from -= layout.strides[d] * layout.shape[d];
            at[d] = 0;
        }
    }
    return out;
}

void TorchReader::add_tensor(const PickleValue& tensor, const std::string& path) {
    const std::string where = fmt::format("'{}': tensor '{}'", label_, shown(path));
    const PickleValue& storage = pickle_.at(tensor.items[0]);
    const auto entry = read(folder_ + "data/" + storage.text);
    if (!entry)
        fail(ErrorKind::bad_file, "{} lies in entry 'data/{}', which is missing", where, shown(storage.text));
    const size_t element_bytes = safetensors_dtype_bytes(storage.dtype);
    if (static_cast<uint64_t>(storage.integer) > entry->size() / element_bytes)
        fail(ErrorKind::bad_file,
             "{} lies in a storage of {} {} elements, but entry 'data/{}' has only {} bytes", where,
             storage.integer, storage.dtype, shown(storage.text), entry->size());
    const Layout layout = read_layout(tensor, storage.integer, where);
    SafeTensor out;
    out.dtype = storage.dtype;
    out.shape = layout.shape;
    if (layout.n_elements == 0)
        out.bytes = {};
    else if (layout.contiguous())
        out.bytes = entry->subspan(static_cast<size_t>(layout.offset) * element_bytes,
                                          static_cast<size_t>(layout.n_elements) * element_bytes);
    else
        out.bytes = copy_out(layout, *entry, element_bytes, where);
    if (!archive_.tensors_.emplace(path, std::move(out)).second)
        fail(ErrorKind::bad_file, "{} occurs twice", where);
}

TorchArchive TorchArchive::parse(std::span<const uint8_t> image, const std::string& label) {
    return TorchReader(image, label).run();
}

TorchArchive TorchArchive::open(const std::string& path) {
    MappedFile file(path);
    TorchArchive archive = parse(file.bytes(), path);
    archive.file_ = std::move(file);
    return archive;
}

}  // namespace powerinfer::formats
