#include "formats/safetensors.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "formats/byte_reader.h"
#include "formats/recognise.h"

namespace powerinfer::formats {
namespace {

using nlohmann::json;

constexpr uint64_t kMaxHeaderBytes = 100'000'000;
constexpr size_t kMaxValues = 4'000'000;  ///< JSON values of a header; a tensor has about ten
constexpr uint64_t kMaxNumber = std::numeric_limits<int64_t>::max();
constexpr int kMaxDepth = 4;  ///< header, tensor, array, number

/// Parses a JSON object whose names are all different, of bounded depth and size.
json parse_object(std::string_view text, const std::string& label) {
    std::vector<std::set<std::string>> names;  // of the objects that are open
    size_t n_values = 0;
    const auto check = [&](int depth, json::parse_event_t event, json& value) {
        if (depth > kMaxDepth) fail(ErrorKind::bad_file, "'{}': its JSON is nested too deeply", label);
        if (++n_values > kMaxValues)
            fail(ErrorKind::bad_file, "'{}': its JSON holds more than {} values", label, kMaxValues);
        if (event == json::parse_event_t::object_start) names.emplace_back();
        if (event == json::parse_event_t::object_end) names.pop_back();
        if (event == json::parse_event_t::key && !names.back().insert(value.get<std::string>()).second)
            fail(ErrorKind::bad_file, "'{}': the name '{}' occurs twice", label,
                 shown(value.get<std::string>()));
        return true;
    };
    // The JSON library takes a zero byte for the end of its input.
    if (const size_t zero = text.find('\0'); zero != std::string_view::npos)
        fail(ErrorKind::bad_file, "'{}': its JSON is damaged at byte {}", label, zero + 1);
    json parsed;
    try {
        parsed = json::parse(text.begin(), text.end(), check);
    } catch (const json::parse_error& e) {
        fail(ErrorKind::bad_file, "'{}': its JSON is damaged at byte {}", label, e.byte);
    } catch (const json::exception&) {
        fail(ErrorKind::bad_file, "'{}': its JSON is damaged", label);
    }
    if (!parsed.is_object()) fail(ErrorKind::bad_file, "'{}': its JSON is not an object", label);
    return parsed;
}

/// One entry of the header. `data` is what follows the header; `where` is "'path': tensor 'name'".
SafeTensor read_entry(const json& entry, std::span<const uint8_t> data, const std::string& where) {
    const auto field = [&](const char* name, json::value_t type) -> const json& {
        const auto it = entry.is_object() ? entry.find(name) : entry.end();
        if (!entry.is_object() || it == entry.end() || it->type() != type)
            fail(ErrorKind::bad_file, "{} has no '{}', expected {}", where, name,
                 type == json::value_t::string ? "a string" : "an array of whole numbers");
        return *it;
    };
    const auto numbers = [&](const char* name) {
        std::vector<uint64_t> out;
        for (const json& number : field(name, json::value_t::array)) {
            if (!number.is_number_unsigned() || number.get<uint64_t>() > kMaxNumber)
                fail(ErrorKind::bad_file, "{} has '{}' = {}, expected whole numbers from 0 to 2^63 - 1",
                     where, name, shown(entry.at(name).dump(-1, ' ', true, json::error_handler_t::replace)));
            out.push_back(number.get<uint64_t>());
        }
        return out;
    };
    SafeTensor t;
    t.dtype = field("dtype", json::value_t::string).get<std::string>();
    const size_t element_bytes = safetensors_dtype_bytes(t.dtype);
    if (element_bytes == 0)
        fail(ErrorKind::unsupported, "{} has dtype '{}', which is not supported", where, shown(t.dtype));
    uint64_t n_bytes = element_bytes;
    for (const uint64_t d : numbers("shape")) {
        if (d > 0 && n_bytes > kMaxNumber / d)
            fail(ErrorKind::bad_file, "{} has a shape of more than 2^63 bytes", where);
        n_bytes *= d;
        t.shape.push_back(static_cast<int64_t>(d));
    }
    const std::vector<uint64_t> offsets = numbers("data_offsets");
    if (offsets.size() != 2 || offsets[0] > offsets[1] || offsets[1] > data.size())
        fail(ErrorKind::bad_file, "{} has data_offsets {}, expected [begin, end] inside the {} bytes of data",
             where, shown(entry.at("data_offsets").dump()), data.size());
    if (offsets[1] - offsets[0] != n_bytes)
        fail(ErrorKind::bad_file, "{} needs {} bytes by its shape and dtype {}, but its data_offsets give {}",
             where, n_bytes, t.dtype, offsets[1] - offsets[0]);
    t.bytes = data.subspan(offsets[0], n_bytes);
    return t;
}

}  // namespace

SafeTensorsFile SafeTensorsFile::open(const std::string& path) {
    SafeTensorsFile f;
    f.label_ = path;
    f.files_.emplace_back(path);
    f.add(f.files_.back().bytes(), path);
    return f;
}

SafeTensorsFile SafeTensorsFile::parse(std::span<const uint8_t> image, const std::string& label) {
    SafeTensorsFile f;
    f.label_ = label;
    f.add(image, label);
    return f;
}

SafeTensorsFile SafeTensorsFile::open_folder(const std::string& folder) {
    const std::filesystem::path base(folder);
    if (!std::filesystem::is_directory(base)) fail(ErrorKind::io, "'{}' is not a folder", folder);
    const std::string single = (base / "model.safetensors").string();
    if (std::filesystem::exists(single)) return open(single);
    const std::string index_path = (base / "model.safetensors.index.json").string();
    if (!std::filesystem::exists(index_path))
        fail(ErrorKind::io, "'{}' holds neither 'model.safetensors' nor 'model.safetensors.index.json'",
             folder);
    const MappedFile index_file(index_path);
    const auto bytes = index_file.bytes();
    if (bytes.empty() || bytes.size() > kMaxHeaderBytes || bytes[0] != '{')
        fail(ErrorKind::bad_file, "'{}' is not the index of a safetensors model: {}", index_path,
             bytes.empty() ? "it is empty" : describe_start(bytes));
    const json index = parse_object({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, index_path);
    const auto map = index.find("weight_map");
    if (map == index.end() || !map->is_object())
        fail(ErrorKind::bad_file,
             "'{}': 'weight_map' is missing, expected an object of tensor names and files", index_path);

    SafeTensorsFile f;
    f.label_ = index_path;
    std::map<std::string, std::vector<std::string>> names_of_shard;
    for (const auto& [name, shard] : map->items()) {
        const std::string file = shard.is_string() ? shard.get<std::string>() : "";
        if (file.empty() || std::filesystem::path(file).filename() != file)
            fail(ErrorKind::bad_file,
                 "'{}': 'weight_map' maps tensor '{}' to '{}', expected the name of a file", index_path,
                 shown(name), shown(file));
        names_of_shard[file].push_back(name);
    }
    for (const auto& [shard, names] : names_of_shard) {
        const std::string path = (base / shard).string();
        if (!std::filesystem::exists(path))
            fail(ErrorKind::io, "'{}' names the part '{}', which is missing", index_path, shown(path));
        f.files_.emplace_back(path);
        f.add(f.files_.back().bytes(), path);
        for (const std::string& name : names) {
            const SafeTensor* t = f.find(name);
            const auto in = f.files_.back().bytes();
            if (t == nullptr || (!t->bytes.empty() &&
                                 (t->bytes.data() < in.data() || t->bytes.data() >= in.data() + in.size())))
                fail(ErrorKind::bad_file, "'{}': tensor '{}' is missing; '{}' says it is there", path,
                     shown(name), index_path);
        }
    }
    return f;
}

void SafeTensorsFile::add(std::span<const uint8_t> image, const std::string& label) {
    if (image.empty()) fail(ErrorKind::bad_file, "'{}' is empty, expected a safetensors file", label);
    ByteReader reader(image, label);
    const uint64_t length = image.size() < 8 ? 0 : reader.number<uint64_t>("the length of the header");
    if (length < 2 || length > kMaxHeaderBytes || reader.left() == 0 || image[8] != '{')
        fail(ErrorKind::bad_file, "'{}' is not a safetensors file: {}", label, describe_start(image));
    const json header = parse_object(reader.text(length, "the header"), label);
    const auto data = image.subspan(reader.position());

    std::vector<const SafeTensor*> order;
    std::map<const SafeTensor*, std::string_view> name_of;
    for (const auto& [name, entry] : header.items()) {
        if (name == "__metadata__") continue;
        const std::string where = fmt::format("'{}': tensor '{}'", label, shown(name));
        const auto [it, added] = tensors_.emplace(name, read_entry(entry, data, where));
        if (!added) fail(ErrorKind::bad_file, "{} is also in another part of the model", where);
        if (it->second.bytes.empty()) continue;
        order.push_back(&it->second);
        name_of.emplace(&it->second, it->first);
    }
    std::sort(order.begin(), order.end(), [](auto* a, auto* b) { return a->bytes.data() < b->bytes.data(); });
    for (size_t i = 1; i < order.size(); ++i) {
        if (order[i - 1]->bytes.data() + order[i - 1]->bytes.size() > order[i]->bytes.data())
            fail(ErrorKind::bad_file, "'{}': the data of tensors '{}' and '{}' overlap", label,
                 shown(name_of[order[i - 1]]), shown(name_of[order[i]]));
    }
}

const SafeTensor* SafeTensorsFile::find(std::string_view name) const {
    const auto it = tensors_.find(name);
    return it == tensors_.end() ? nullptr : &it->second;
}

const SafeTensor& SafeTensorsFile::at(std::string_view name) const {
    const SafeTensor* t = find(name);
    if (t == nullptr) fail(ErrorKind::bad_file, "'{}': tensor '{}' is missing", label_, name);
    return *t;
}

}  // namespace powerinfer::formats
