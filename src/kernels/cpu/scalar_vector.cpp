// Norms, sums and activation functions the obvious way, with the standard library's functions.
#include <cmath>

#include "base/half.h"
#include "kernels/cpu/kernel_sets.h"

namespace powerinfer::kernels::scalar {
namespace {

void rms_norm(const float* x, const float* weight, float* y, int64_t n, float eps) {
    double sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
    const auto mean = static_cast<float>(sum / static_cast<double>(n));
    const float scale = 1.0f / std::sqrt(mean + eps);
    for (int64_t i = 0; i < n; ++i) y[i] = x[i] * scale * weight[i];
}

void add(const float* x, float* y, int64_t n) {
    for (int64_t i = 0; i < n; ++i) y[i] += x[i];
}

float activate(GateActivation act, float x) {
    switch (act) {
        case GateActivation::silu:
            return x / (1.0f + std::exp(-x));
        case GateActivation::relu:
        case GateActivation::drelu:
            return x < 0 ? 0 : x;
        case GateActivation::relu_squared:
            return x < 0 ? 0 : x * x;
        case GateActivation::gelu: {
            // 0.5 x (1 + tanh(u)) = x / (1 + exp(-2u)), which does not cancel for negative x.
            const float u = 0.79788456f * x * (1.0f + 0.044715f * x * x);
            return x / (1.0f + std::exp(-2.0f * u));
        }
        case GateActivation::gelu_quick:
            return x / (1.0f + std::exp(-1.702f * x));
    }
    return 0;
}

void gate(GateActivation act, const float* gate, const float* up, float* h, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
        const float z = activate(act, gate[i]);
        if (!up) {
            h[i] = z;
        } else if (act == GateActivation::drelu) {
            h[i] = z * (up[i] < 0 ? 0 : up[i]);
        } else {
            h[i] = z * up[i];
        }
    }
}

void narrow(const float* x, uint16_t* y, int64_t n) {
    for (int64_t i = 0; i < n; ++i) y[i] = f32_to_f16(x[i]);
}

}  // namespace

void add_vector(Ops& ops) {
    ops.encode = quant::encode_activation;
    ops.rms_norm = rms_norm;
    ops.add = add;
    ops.gate = gate;
    ops.f32_to_f16 = narrow;
}

}  // namespace powerinfer::kernels::scalar
