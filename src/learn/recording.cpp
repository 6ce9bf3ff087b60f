#include "learn/recording.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "base/error.h"
#include "base/half.h"
#include "base/hash.h"
#include "sparsity/profile.h"

namespace powerinfer::learn {
namespace {

namespace fs = std::filesystem;

constexpr char kMagic[8] = {'P', 'I', 'R', 'E', 'C', 0, 0, 1};
constexpr size_t kHeaderBytes = 64;
constexpr float kMostHalf = 65504.0f, kLeastHalf = 0x1p-24f;

std::string file_of(const std::string& folder, int layer) {
    return (fs::path(folder) / fmt::format("layer_{}.rec", layer)).string();
}

size_t x_row_bytes(const RecordingShape& s) {
    return row_bytes(s.x_type, s.n_embd);
}
size_t value_row_bytes(const RecordingShape& s) {
    const auto n_ff = static_cast<size_t>(s.n_ff);
    return s.values == RecordedValues::h ? n_ff * sizeof(uint16_t) : (n_ff + 7) / 8;
}

std::array<uint8_t, kHeaderBytes> header_of(const RecordingShape& s, int layer) {
    std::array<uint8_t, kHeaderBytes> bytes{};
    const std::array<uint64_t, 2> hashes = {s.fingerprint, s.run};
    const std::array<uint32_t, 8> numbers = {
        static_cast<uint32_t>(layer),    static_cast<uint32_t>(s.n_layer),
        static_cast<uint32_t>(s.n_embd), static_cast<uint32_t>(s.n_ff),
        static_cast<uint32_t>(s.window), static_cast<uint32_t>(s.x_type),
        static_cast<uint32_t>(s.values), 0};
    std::memcpy(bytes.data(), kMagic, 8);
    std::memcpy(bytes.data() + 8, hashes.data(), 16);
    std::memcpy(bytes.data() + 24, numbers.data(), 32);
    std::memcpy(bytes.data() + 56, &s.n_tokens, 8);
    return bytes;
}

/// Throws unless the bytes start with a header of that layer whose numbers can be true.
RecordingShape read_header(std::span<const uint8_t> bytes, int layer, const std::string& path) {
    if (bytes.size() < kHeaderBytes || std::memcmp(bytes.data(), kMagic, 8) != 0)
        fail(ErrorKind::bad_file, "'{}' is not a recording of activations: it does not start with PIREC",
             path);
    std::array<uint64_t, 2> hashes;
    std::array<uint32_t, 8> n;
    RecordingShape s;
    std::memcpy(hashes.data(), bytes.data() + 8, 16);
    std::memcpy(n.data(), bytes.data() + 24, 32);
    std::memcpy(&s.n_tokens, bytes.data() + 56, 8);
    constexpr uint32_t kMost = 1u << 24;
    const bool good =
        n[0] == static_cast<uint32_t>(layer) && n[0] < n[1] && n[1] <= 4096 && n[2] >= 1 && n[2] <= kMost &&
        n[3] >= 1 && n[3] <= kMost && n[4] >= 2 && n[4] <= kMost && n[6] <= 1 && n[7] == 0 &&
        (n[5] == static_cast<uint32_t>(DType::F16) || n[5] == static_cast<uint32_t>(DType::F32)) &&
        s.n_tokens >= 1 && s.n_tokens <= int64_t{1} << 32;
    if (!good)
        fail(ErrorKind::bad_file, "'{}' has a damaged header, expected that of layer {} of a recording", path,
             layer);
    s.fingerprint = hashes[0];
    s.run = hashes[1];
    s.n_layer = static_cast<int>(n[1]);
    s.n_embd = static_cast<int>(n[2]);
    s.n_ff = static_cast<int>(n[3]);
    s.window = static_cast<int>(n[4]);
    s.x_type = static_cast<DType>(n[5]);
    s.values = static_cast<RecordedValues>(n[6]);
    return s;
}

RecordingShape shape_for(const model::Model& model, const Text& text, const RecordingOptions& options) {
    if (options.x_type != DType::F16 && options.x_type != DType::F32)
        fail(ErrorKind::bad_argument, "vectors are recorded as F16 or F32, not as {}",
             info(options.x_type).name);
    uint64_t run = fnv1a(text.ids.data(), text.ids.size_bytes());
    const int64_t bos = text.bos.value_or(-1);
    const auto activation = static_cast<int64_t>(model.spec.activation);
    run = fnv1a(&bos, sizeof(bos), fnv1a(&activation, sizeof(activation), run));
    for (const formats::GgufTensor& t : model.file->tensors())
        run = fnv1a(&t.view.type, sizeof(t.view.type), run);
    return {.fingerprint = sparsity::fingerprint_of(model),
            .run = run,
            .n_layer = model.spec.n_layer,
            .n_embd = model.spec.n_embd,
            .n_ff = model.spec.n_ff,
            .window = text.window,
            .x_type = options.x_type,
            .values = options.values,
            .n_tokens = text.n_tokens()};
}

/// F16 of h: zero exactly where the neuron did not fire.
uint16_t recorded_h(float h, bool fired) {
    if (!fired) return 0;
    const float magnitude = std::clamp(std::fabs(h), kLeastHalf, kMostHalf);
    return f32_to_f16(std::signbit(h) ? -magnitude : magnitude);
}

/// Appends windows to the files of all layers.
class Recorder {
  public:
    Recorder(const std::string& folder, const RecordingShape& shape) : folder_(folder), shape_(shape) {
        std::error_code error;
        fs::create_directories(folder, error);
        if (error) fail(ErrorKind::io, "the folder '{}' cannot be made: {}", folder, error.message());
        int64_t n_windows = (shape.n_tokens + shape.window - 1) / shape.window;
        for (int i = 0; i < shape.n_layer; ++i) n_windows = std::min(n_windows, windows_in(i));
        n_complete_ = n_windows;
        for (int i = 0; i < shape.n_layer; ++i) open_for_append(i);
    }

    /// Windows that every layer has.
    int64_t n_complete() const { return n_complete_; }

    void add(const engine::ObservedFeedForward& f, model::Activation activation) {
        buffer_.resize(static_cast<size_t>(f.n_tokens) * (x_row_bytes(shape_) + value_row_bytes(shape_)));
        uint8_t* out = buffer_.data();
        if (shape_.x_type == DType::F32) {
            std::memcpy(out, f.residual, static_cast<size_t>(f.n_tokens) * x_row_bytes(shape_));
        } else {
            for (int64_t i = 0; i < f.n_tokens * f.n_embd; ++i) {
                const uint16_t half = f32_to_f16(std::clamp(f.residual[i], -kMostHalf, kMostHalf));
                std::memcpy(out + 2 * i, &half, 2);
            }
        }
        out += static_cast<size_t>(f.n_tokens) * x_row_bytes(shape_);
        if (shape_.values == RecordedValues::h) {
            for (int64_t i = 0; i < f.n_tokens * f.n_ff; ++i) {
                const uint16_t half = recorded_h(f.h[i], fires(f, activation, i));
                std::memcpy(out + 2 * i, &half, 2);
            }
        } else {
            std::memset(out, 0, static_cast<size_t>(f.n_tokens) * value_row_bytes(shape_));
            for (int64_t t = 0; t < f.n_tokens; ++t, out += value_row_bytes(shape_))
                for (int64_t j = 0; j < f.n_ff; ++j)
                    if (fires(f, activation, t * f.n_ff + j)) out[j / 8] |= static_cast<uint8_t>(1u << j % 8);
        }
        write(f.layer, buffer_.data(), buffer_.size());
    }

    void finish() {
        for (int i = 0; i < shape_.n_layer; ++i) {
            files_[static_cast<size_t>(i)].close();
            check(i);
        }
    }

  private:
    /// Whole windows of a layer's file; 0 where there is none or one that was stopped in its header.
    int64_t windows_in(int layer) const {
        const std::string path = file_of(folder_, layer);
        std::error_code error;
        const uint64_t size = fs::file_size(path, error);
        if (error || size < kHeaderBytes) return 0;
        if (read_header(MappedFile(path).bytes(), layer, path) != shape_)
            fail(ErrorKind::bad_argument,
                 "'{}' is a recording of another model, text or form; remove it or give another folder",
                 path);
        if (size >= shape_.file_bytes(shape_.n_tokens))
            return (shape_.n_tokens + shape_.window - 1) / shape_.window;
        return static_cast<int64_t>((size - kHeaderBytes) /
                                    (shape_.file_bytes(shape_.window) - kHeaderBytes));
    }

    void open_for_append(int layer) {
        const std::string path = file_of(folder_, layer);
        const int64_t n = std::min(n_complete_ * shape_.window, shape_.n_tokens);
        std::error_code error;
        if (n_complete_ > 0) fs::resize_file(path, shape_.file_bytes(n), error);
        if (error)
            fail(ErrorKind::io, "'{}' cannot be cut to its complete windows: {}", path, error.message());
        files_.emplace_back(
            path, n_complete_ > 0 ? std::ios::binary | std::ios::app : std::ios::binary | std::ios::trunc);
        check(layer);
        if (n_complete_ == 0) write(layer, header_of(shape_, layer).data(), kHeaderBytes);
    }

    void write(int layer, const uint8_t* data, size_t size) {
        files_[static_cast<size_t>(layer)].write(reinterpret_cast<const char*>(data),
                                                 static_cast<std::streamsize>(size));
        files_[static_cast<size_t>(layer)].flush();
        check(layer);
    }

    void check(int layer) const {
        if (!files_[static_cast<size_t>(layer)])
            fail(ErrorKind::io, "'{}' cannot be written: {}", file_of(folder_, layer), std::strerror(errno));
    }

    std::string folder_;
    RecordingShape shape_;
    int64_t n_complete_ = 0;
    std::vector<std::ofstream> files_;
    std::vector<uint8_t> buffer_;
};

}  // namespace

uint64_t RecordingShape::file_bytes(int64_t n) const {
    return kHeaderBytes + static_cast<uint64_t>(n) * (x_row_bytes(*this) + value_row_bytes(*this));
}

void record_text(const std::string& folder, std::shared_ptr<const model::Model> model, const Text& text,
                 const RecordingOptions& options, int n_threads, const Progress& progress) {
    Recorder recorder(folder, shape_for(*model, text, options));
    if (recorder.n_complete() == text.n_windows()) return;
    const model::Activation activation = model->spec.activation;
    engine::Engine engine = load_dense(std::move(model), text, n_threads);
    run_text(
        engine, text, recorder.n_complete(),
        [&](int64_t, const engine::ObservedFeedForward& f) { recorder.add(f, activation); }, progress);
    recorder.finish();
}

LayerRecording LayerRecording::open(const std::string& folder, int layer) {
    const std::string path = file_of(folder, layer);
    LayerRecording r;
    r.file_ = MappedFile(path);
    r.shape_ = read_header(r.file_.bytes(), layer, path);
    const uint64_t expected = r.shape_.file_bytes(r.n_tokens());
    if (r.file_.bytes().size() != expected)
        fail(ErrorKind::bad_file,
             "'{}' has {} bytes, expected {}: the recording was stopped; record again to complete it", path,
             r.file_.bytes().size(), expected);
    return r;
}

const uint8_t* LayerRecording::x_row(int64_t token) const {
    const int64_t begin = token / shape_.window * shape_.window;
    return file_.bytes().data() + shape_.file_bytes(begin) +
           static_cast<size_t>(token - begin) * x_row_bytes(shape_);
}

const uint8_t* LayerRecording::value_row(int64_t token) const {
    const int64_t begin = token / shape_.window * shape_.window;
    const int64_t size = std::min<int64_t>(shape_.window, n_tokens() - begin);
    return file_.bytes().data() + shape_.file_bytes(begin) + static_cast<size_t>(size) * x_row_bytes(shape_) +
           static_cast<size_t>(token - begin) * value_row_bytes(shape_);
}

void LayerRecording::read_x(int64_t first, int64_t n, float* out) const {
    for (int64_t t = first; t < first + n; ++t, out += shape_.n_embd) {
        const uint8_t* row = x_row(t);
        if (shape_.x_type == DType::F32) {
            std::memcpy(out, row, x_row_bytes(shape_));
            continue;
        }
        for (int64_t i = 0; i < shape_.n_embd; ++i) {
            uint16_t half;
            std::memcpy(&half, row + 2 * i, 2);
            out[i] = f16_to_f32(half);
        }
    }
}

void LayerRecording::read_values(int64_t first, int64_t n, float* out) const {
    for (int64_t t = first; t < first + n; ++t, out += shape_.n_ff) {
        const uint8_t* row = value_row(t);
        for (int64_t j = 0; j < shape_.n_ff; ++j) {
            if (shape_.values == RecordedValues::h) {
                uint16_t half;
                std::memcpy(&half, row + 2 * j, 2);
                out[j] = f16_to_f32(half);
            } else {
                out[j] = row[j / 8] >> j % 8 & 1 ? 1.0f : 0.0f;
            }
        }
    }
}

void LayerRecording::read_fired(int64_t first, int64_t n, uint8_t* out) const {
    for (int64_t t = first; t < first + n; ++t, out += shape_.n_ff) {
        const uint8_t* row = value_row(t);
        for (int64_t j = 0; j < shape_.n_ff; ++j)
            out[j] = shape_.values == RecordedValues::h ? (row[2 * j] | row[2 * j + 1]) != 0
                                                        : row[j / 8] >> j % 8 & 1;
    }
}

void LayerRecording::release() const {
    file_.release(file_.bytes().data(), file_.bytes().size());
}

}  // namespace powerinfer::learn
