// exp, tanh and the like on sixteen floats. Largest errors found against double over a fine grid, in units in the
// last place: exp 1.03 on [-87, 88.7], tanh 2.5 on [-10, 10], x * sigmoid(x) 2.4 on [-80, 80].
// For files compiled for one instruction set only, hence the anonymous namespace.
#pragma once

namespace powerinfer::kernels {
namespace {

/// x = n ln 2 + r with |r| <= ln 2 / 2; gives n and (e^r - 1), from the power series up to r^7 (rest below
/// 2^-27).
template <class W>
inline void reduce_exp(typename W::F x, typename W::F& n, typename W::F& expm1) {
    using F = typename W::F;
    n = W::round(W::mul(x, W::set(1.44269504f)));
    F r = W::fnma(n, W::set(0x1.62e4p-1f), x);  // upper bits of ln 2: exact products for |n| < 512
    r = W::fnma(n, W::set(1.42860682e-6f), r);  // the rest
    F p = W::set(1.0f / 5040);
    p = W::fma(p, r, W::set(1.0f / 720));
    p = W::fma(p, r, W::set(1.0f / 120));
    p = W::fma(p, r, W::set(1.0f / 24));
    p = W::fma(p, r, W::set(1.0f / 6));
    p = W::fma(p, r, W::set(0.5f));
    expm1 = W::fma(W::mul(r, r), p, r);
}

/// e^x; 0 below -104, infinity above 88.73, NaN for NaN.
template <class W>
inline typename W::F exp(typename W::F x) {
    typename W::F n, expm1;
    reduce_exp<W>(W::min(W::set(89), W::max(W::set(-104), x)), n, expm1);
    return W::scale_by_power(W::add(expm1, W::set(1)), n);
}

/// tanh x = (e^2x - 1) / (e^2x + 1), with e^2x - 1 kept apart so that small x lose nothing.
template <class W>
inline typename W::F tanh(typename W::F x) {
    typename W::F n, expm1;
    const auto bounded = W::min(W::set(20), W::max(W::set(-20), W::add(x, x)));
    reduce_exp<W>(bounded, n, expm1);
    const auto power = W::scale_by_power(W::set(1), n);
    const auto total = W::fma(power, expm1, W::sub(power, W::set(1)));
    return W::div(total, W::add(total, W::set(2)));
}

/// x / (1 + e^-s): x times the logistic function of s.
template <class W>
inline typename W::F times_sigmoid(typename W::F x, typename W::F s) {
    return W::div(x, W::add(W::set(1), exp<W>(W::sub(W::zero(), s))));
}

}  // namespace
}  // namespace powerinfer::kernels
