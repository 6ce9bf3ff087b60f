#include "sparsity/mode.h"

#include <cmath>
#include <cstdlib>

#include "base/error.h"

namespace powerinfer::sparsity {
namespace {

struct NamedMode {
    Mode mode;
    std::string_view name;
};
constexpr NamedMode kModes[] = {
    {Mode::off, "off"}, {Mode::exact, "exact"}, {Mode::predict, "predict"}, {Mode::automatic, "auto"}};

}  // namespace

std::string_view name(Mode mode) {
    for (const NamedMode& m : kModes) {
        if (m.mode == mode) return m.name;
    }
    return "?";
}

Mode mode_from_name(std::string_view text) {
    for (const NamedMode& m : kModes) {
        if (m.name == text) return m.mode;
    }
    fail(ErrorKind::bad_argument, "unknown sparsity mode '{}': expected off, exact, predict or auto", text);
}

float resolve_threshold(float from_file, const char* from_environment) {
    if (from_environment == nullptr) return from_file;
    char* end = nullptr;
    const float value = std::strtof(from_environment, &end);
    if (end == from_environment || *end != '\0' || !std::isfinite(value))
        fail(ErrorKind::bad_argument,
             "environment variable LLAMA_SPARSE_PRED_THRESHOLD is '{}': expected a finite number", from_environment);
    return value;
}

}  // namespace powerinfer::sparsity
