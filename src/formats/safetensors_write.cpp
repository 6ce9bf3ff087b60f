#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file_writer.h"
#include "formats/recognise.h"
#include "formats/safetensors.h"

namespace powerinfer::formats {

void write_safetensors(const std::string& path, const std::vector<SafeTensorData>& tensors) {
    nlohmann::ordered_json header = nlohmann::ordered_json::object();
    uint64_t offset = 0;
    for (const SafeTensorData& t : tensors) {
        uint64_t n_bytes = safetensors_dtype_bytes(t.dtype);
        for (const int64_t d : t.shape) n_bytes *= static_cast<uint64_t>(d);
        if (n_bytes != t.size || safetensors_dtype_bytes(t.dtype) == 0)
            fail(ErrorKind::bad_argument, "'{}': tensor '{}' of dtype {} has {} bytes, its shape wants {}",
                 path, shown(t.name), t.dtype, t.size, n_bytes);
        if (header.contains(t.name) || t.name == "__metadata__")
            fail(ErrorKind::bad_argument, "'{}': the tensor name '{}' is taken", path, shown(t.name));
        header[t.name] = {
            {"dtype", t.dtype}, {"shape", t.shape}, {"data_offsets", {offset, offset + t.size}}};
        offset += t.size;
    }
    std::string text;
    try {
        text = header.dump();
    } catch (const nlohmann::json::exception&) {
        fail(ErrorKind::bad_argument, "'{}': a tensor name is not UTF-8", path);
    }
    text.resize((text.size() + 7) / 8 * 8, ' ');  // so that the data starts aligned
    FileWriter out(path);
    const uint64_t length = text.size();
    out.write(&length, sizeof(length));
    out.write(text.data(), text.size());
    for (const SafeTensorData& t : tensors) out.write(t.data, t.size);
    out.commit();
}

}  // namespace powerinfer::formats
