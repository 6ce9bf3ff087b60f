#include "convert/families/families.h"
#include "base/error.h"
#include "convert/family.h"

namespace powerinfer::convert {
namespace {

constexpr Family kFamilies[] = {
    {"LlamaForCausalLM", describe_llama},     {"SparseLlamaForCausalLM", describe_llama},  // ProSparse
    {"ReluLlamaForCausalLM", describe_llama}, {"MistralForCausalLM", describe_mistral},
    {"BambooForCausalLM", describe_bamboo},
};

struct ActivationName {
    std::string_view hf_name;
    model::Activation activation;
};
constexpr ActivationName kActivationNames[] = {
    {"silu", model::Activation::silu},
    {"swish", model::Activation::silu},
    {"relu", model::Activation::relu},
    {"relu2", model::Activation::relu_squared},
    {"relu_squared", model::Activation::relu_squared},
    {"gelu", model::Activation::gelu},
    {"gelu_new", model::Activation::gelu},
    {"gelu_pytorch_tanh", model::Activation::gelu},
    {"drelu", model::Activation::drelu},
};

std::optional<model::Activation> stated_activation(const HfConfig& config, const std::string& text) {
    for (const ActivationName& row : kActivationNames) {
        if (row.hf_name == text) return row.activation;
    }
    // FATReLU drops values up to a threshold; with a threshold of 0 it is ReLU.
    if (text == "fatrelu" && config.find_number({"hidden_act_param"}).value_or(1.0) == 0.0)
        return model::Activation::relu;
    return std::nullopt;
}

}  // namespace

const Family& find_family(const HfConfig& config) {
    const std::vector<std::string> names = config.strings("architectures");
    for (const std::string& name : names) {
        for (const Family& family : kFamilies) {
            if (family.hf_name == name) return family;
        }
    }
    std::string known;
    for (const Family& family : kFamilies) known += (known.empty() ? "" : ", ") + std::string(family.hf_name);
    if (names.empty())
        fail(ErrorKind::bad_file, "key 'architectures' is missing from '{}'; it should name one of: {}",
             config.path(), known);
    fail(ErrorKind::unsupported, "'{}' says architecture '{}'; those that can be converted are: {}",
         config.path(), names.front(), known);
}

model::Activation choose_activation(const FamilyInput& input, std::optional<model::Activation> custom) {
    const auto text = input.config.find_string({"hidden_act", "hidden_activation"});
    const auto stated = text ? stated_activation(input.config, *text) : std::nullopt;
    if (input.activation) {
        const auto expected = custom ? custom : stated;
        if (expected != input.activation)
            log(input.log, LogLevel::warning, "the activation {} was asked for; '{}' says {}",
                model::name(*input.activation), input.config.path(), text.value_or("nothing"));
        return *input.activation;
    }
    if (custom) {
        if (stated && *stated != *custom && *stated != model::Activation::relu)
            log(input.log, LogLevel::warning, "'{}' says the activation is {}; this architecture uses {}",
                input.config.path(), *text, model::name(*custom));
        return *custom;
    }
    if (!text)
        fail(ErrorKind::bad_file,
             "key 'hidden_act' is missing from '{}'; name the activation with --activation",
             input.config.path());
    if (!stated)
        fail(ErrorKind::unsupported,
             "key 'hidden_act' of '{}' is '{}'; silu, relu, relu2, gelu and drelu can be converted, and "
             "--activation "
             "takes another one in its place",
             input.config.path(), *text);
    return *stated;
}

}  // namespace powerinfer::convert
