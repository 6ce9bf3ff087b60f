#include "model/spec.h"

#include "base/error.h"

namespace powerinfer::model {
namespace {

struct NamedActivation {
    std::string_view name;
    Activation activation;
};
// The first name of each activation is the one we print and write.
constexpr NamedActivation kActivations[] = {
    {"silu", Activation::silu},   {"relu", Activation::relu},   {"relu_squared", Activation::relu_squared},
    {"gelu", Activation::gelu},   {"drelu", Activation::drelu}, {"relu2", Activation::relu_squared},
    {"swish", Activation::silu},
};

}  // namespace

std::string_view name(PredictorKind kind) {
    return kind == PredictorKind::mlp ? "mlp" : "sign";
}

std::string_view name(PredictorInput input) {
    return input == PredictorInput::residual ? "residual" : input == PredictorInput::normed ? "normed" : "layer_input";
}

std::string_view name(Activation a) {
    for (const NamedActivation& row : kActivations) {
        if (row.activation == a) return row.name;
    }
    return "?";
}

Activation activation_from_name(std::string_view text, std::string_view where) {
    for (const NamedActivation& row : kActivations) {
        if (row.name == text) return row.activation;
    }
    fail(ErrorKind::unsupported, "{} is '{}': expected silu, relu, relu_squared, gelu or drelu", where, text);
}

bool is_sparse_capable(Activation a) {
    return a == Activation::relu || a == Activation::relu_squared || a == Activation::drelu;
}

}  // namespace powerinfer::model
