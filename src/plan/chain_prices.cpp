#include "plan/chain_prices.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace powerinfer::plan {
namespace {

constexpr double kHighestPrice = 1;  // a second per byte
constexpr double kNever = std::numeric_limits<double>::infinity();

void add(Usage& usage, const Choice& c, size_t n_devices) {
    if (c.device != kHost) usage[static_cast<size_t>(c.device)] += c.bytes;
    usage[n_devices] += c.host_bytes;
}

/// How much more of each device the priced chain uses than there is: a direction in which the bound grows.
std::vector<double> excess(const ChainProblem& problem, const PricedChain& chain) {
    std::vector<double> over;
    for (size_t d = 0; d < problem.capacity.size(); ++d)
        over.push_back(static_cast<double>(chain.usage()[d]) - static_cast<double>(problem.capacity[d]));
    return over;
}

/// One device: the bound is a line per chain; the two chains on either side of the best price tell where they cross.
TwoChains find_one_price(const ChainProblem& problem, PricedChain& chain, double host_price) {
    const auto set = [&](double price) { chain.set_prices({price}, host_price); };
    const auto used = [&] { return chain.usage()[0]; };
    const auto priced_seconds = [&] {  // without the device's price
        return chain.rest(0, chain.start()) - chain.prices()[0] * static_cast<double>(used());
    };
    set(0);
    TwoChains two;
    if (!chain.exists()) return two;
    if (used() <= problem.capacity[0]) return {chain.picks(), {}};
    two.over = chain.picks();
    uint64_t over_bytes = used();
    double over_seconds = priced_seconds();
    double price = std::max(over_seconds, 1e-9) / static_cast<double>(over_bytes);
    set(price);
    while (used() > problem.capacity[0] && price < kHighestPrice) set(price *= 4);
    if (used() > problem.capacity[0]) return two;
    two.fitting = chain.picks();
    uint64_t under_bytes = used();
    double under_seconds = priced_seconds();
    for (int i = 0; i < 200 && over_bytes > under_bytes; ++i) {
        price = (under_seconds - over_seconds) / static_cast<double>(over_bytes - under_bytes);
        set(price);
        const uint64_t bytes = used();
        if (bytes == under_bytes || bytes == over_bytes) break;
        if (bytes > problem.capacity[0]) {
            over_bytes = bytes, over_seconds = priced_seconds(), two.over = chain.picks();
        } else {
            under_bytes = bytes, under_seconds = priced_seconds(), two.fitting = chain.picks();
        }
    }
    return two;
}

/// Several devices: the ellipsoid method on the prices, scaled so that they are all about 1.
void find_prices_of_several(const ChainProblem& problem, PricedChain& chain, double host_price) {
    const size_t n = problem.capacity.size();
    std::vector<double> zero(n, 0.0);
    chain.set_prices(zero, host_price);
    if (!chain.exists() || fits_devices(problem, chain.usage())) return;
    double total = 0;
    for (size_t d = 0; d < n; ++d) total += static_cast<double>(chain.usage()[d]);
    const double scale = 2 * chain.rest(0, chain.start()) / std::max(total, 1.0);
    const auto count = static_cast<double>(n);
    std::vector<double> centre(n, 1.0), best = zero, v(n);
    std::vector<std::vector<double>> shape(n, std::vector<double>(n, 0.0));
    for (size_t i = 0; i < n; ++i) shape[i][i] = 64 * count;
    double best_bound = chain.bound();
    for (size_t step = 0; step < 150 * n; ++step) {
        std::vector<double> g(n, 0.0);
        const auto lowest = static_cast<size_t>(std::min_element(centre.begin(), centre.end()) - centre.begin());
        if (centre[lowest] < 0) {
            g[lowest] = 1;  // towards prices that are not negative
        } else {
            std::vector<double> prices = centre;
            for (double& p : prices) p *= scale;
            chain.set_prices(prices, host_price);
            g = excess(problem, chain);
            if (chain.bound() > best_bound) best_bound = chain.bound(), best = prices;
        }
        double norm = 0;
        for (size_t i = 0; i < n; ++i) {
            v[i] = 0;
            for (size_t j = 0; j < n; ++j) v[i] += shape[i][j] * g[j];
        }
        for (size_t i = 0; i < n; ++i) norm += g[i] * v[i];
        if (!(norm > 0)) break;
        norm = std::sqrt(norm);
        for (size_t i = 0; i < n; ++i) v[i] /= norm;
        for (size_t i = 0; i < n; ++i) centre[i] += v[i] / (count + 1);
        const double grow = count * count / (count * count - 1);
        for (size_t i = 0; i < n; ++i)
            for (size_t j = 0; j < n; ++j) shape[i][j] = grow * (shape[i][j] - 2 / (count + 1) * v[i] * v[j]);
    }
    chain.set_prices(best, host_price);
}

}  // namespace

bool fits_devices(const ChainProblem& problem, const Usage& usage) {
    for (size_t d = 0; d < problem.capacity.size(); ++d)
        if (usage[d] > problem.capacity[d]) return false;
    return true;
}

PricedChain::PricedChain(const ChainProblem& problem, Kind kind)
    : problem_(problem), kind_(kind), n_homes_(problem.capacity.size() + 1), price_(problem.capacity.size(), 0.0) {
    for (const auto& stage : problem.stages) {
        std::vector<Family> families;
        std::vector<size_t> where(n_homes_ * n_homes_, SIZE_MAX);
        for (uint32_t i = 0; i < stage.size(); ++i) {
            size_t& f = where[index(stage[i].home) * n_homes_ + index(stage[i].device)];
            if (f == SIZE_MAX) {
                f = families.size();
                families.push_back({stage[i].home, stage[i].device, {}, {}});
            }
            families[f].members.push_back(i);
        }
        for (Family& f : families)
            std::stable_sort(f.members.begin(), f.members.end(),
                             [&](uint32_t a, uint32_t b) { return stage[a].bytes < stage[b].bytes; });
        families_.push_back(std::move(families));
    }
    const size_t n = (problem.stages.size() + 1) * n_homes_ * static_cast<size_t>(kind.changes + 1);
    rest_.resize(n);
    stage_cost_.resize(problem.stages.size() * n_homes_);
    next_home_.resize(n);
    best_.resize(problem.stages.size() * n_homes_);
}

void PricedChain::make_hull(size_t stage, Family& family) const {
    const auto& choices = problem_.stages[stage];
    const auto y = [&](uint32_t i) {
        return choices[i].seconds + host_price_ * static_cast<double>(choices[i].host_bytes);
    };
    const auto x = [&](uint32_t i) { return static_cast<double>(choices[i].bytes); };
    std::vector<uint32_t>& hull = family.hull;
    hull.clear();
    for (const uint32_t i : family.members) {
        if (!hull.empty() && y(i) >= y(hull.back())) continue;  // more bytes and not faster
        if (!hull.empty() && x(i) == x(hull.back())) hull.pop_back();
        while (hull.size() >= 2) {
            const uint32_t a = hull[hull.size() - 2], b = hull.back();
            if ((y(b) - y(a)) * (x(i) - x(a)) < (y(i) - y(a)) * (x(b) - x(a))) break;
            hull.pop_back();
        }
        hull.push_back(i);
    }
}

uint32_t PricedChain::best_of(size_t stage, const Family& family) const {
    const auto& choices = problem_.stages[stage];
    const std::vector<uint32_t>& hull = family.hull;
    // Along the hull the cost falls and then rises; of equals the one with fewer bytes.
    size_t low = 0, high = hull.size() - 1;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (cost(choices[hull[middle + 1]]) < cost(choices[hull[middle]])) low = middle + 1;
        else high = middle;
    }
    return hull[low];
}

uint32_t PricedChain::neighbour(size_t s, uint32_t pick, bool more) const {
    const auto& choices = problem_.stages[s];
    const Choice& now = choices[pick];
    for (const Family& f : families_[s]) {
        if (f.home != now.home || f.device != now.device) continue;
        const auto fewer = [&](uint32_t i, uint64_t bytes) { return choices[i].bytes < bytes; };
        auto it = std::lower_bound(f.hull.begin(), f.hull.end(), now.bytes, fewer);
        if (more) {
            while (it != f.hull.end() && choices[*it].bytes <= now.bytes) ++it;
            return it == f.hull.end() ? pick : *it;
        }
        return it == f.hull.begin() ? pick : *std::prev(it);
    }
    return pick;
}

void PricedChain::set_prices(const std::vector<double>& device, double host) {
    price_ = device;
    host_price_ = host;
    if (hull_host_price_ != host) {
        for (size_t s = 0; s < families_.size(); ++s)
            for (Family& f : families_[s]) make_hull(s, f);
        hull_host_price_ = host;
    }
    worth_ = 0;
    for (size_t d = 0; d < price_.size(); ++d) worth_ += price_[d] * static_cast<double>(problem_.capacity[d]);
    if (host_price_ > 0) worth_ += host_price_ * static_cast<double>(problem_.host_capacity);
    std::fill(stage_cost_.begin(), stage_cost_.end(), kNever);
    for (size_t s = 0; s < families_.size(); ++s)
        for (const Family& f : families_[s]) {
            const uint32_t i = best_of(s, f);
            const size_t at = s * n_homes_ + index(f.home);
            const double c = cost(problem_.stages[s][i]);
            if (c < stage_cost_[at]) stage_cost_[at] = c, best_[at] = i;
        }

    const auto n_devices = static_cast<int>(n_homes_) - 1;
    for (size_t s = families_.size() + 1; s-- > 0;)
        for (int h = kHost; h < n_devices; ++h)
            for (int left = 0; left <= kind_.changes; ++left) {
                const size_t at = slot(s, {h, left});
                rest_[at] = kNever;
                if (s == families_.size()) {
                    At end{h, left};
                    if (step(end, kHost) && end.left == 0) rest_[at] = move(h, kHost);
                    continue;
                }
                for (int g = kHost; g < n_devices; ++g) {
                    At next{h, left};
                    if (!step(next, g)) continue;
                    const double c = move(h, g) + stage_cost_[s * n_homes_ + index(g)] + rest_[slot(s + 1, next)];
                    if (c < rest_[at]) rest_[at] = c, next_home_[at] = g;
                }
            }
    usage_ = {};
    if (!exists()) return;
    const std::vector<uint32_t> best = picks();
    for (size_t s = 0; s < best.size(); ++s) add(usage_, problem_.stages[s][best[s]], n_homes_ - 1);
}

bool PricedChain::step(At& at, int to) const {
    if (to == at.home) return true;
    if (at.left == 0 && !kind_.or_more) return false;
    at = {to, std::max(at.left - 1, 0)};
    return true;
}

void PricedChain::prepare() {
    const auto n_devices = static_cast<int>(n_homes_) - 1;
    const size_t n_stages = families_.size();
    rest_seconds_.assign(rest_.size(), kNever);
    rest_usage_.assign(rest_.size(), {});
    before_.assign(rest_.size(), kNever);
    for (size_t s = n_stages + 1; s-- > 0;)
        for (int h = kHost; h < n_devices; ++h)
            for (int left = 0; left <= kind_.changes; ++left) {
                const size_t at = slot(s, {h, left});
                if (rest_[at] == kNever) continue;
                if (s == n_stages) {
                    rest_seconds_[at] = rest_[at];
                    continue;
                }
                const int g = next_home_[at];
                At next{h, left};
                step(next, g);
                const Choice& choice = problem_.stages[s][best_[s * n_homes_ + index(g)]];
                rest_seconds_[at] = move(h, g) + choice.seconds + rest_seconds_[slot(s + 1, next)];
                rest_usage_[at] = rest_usage_[slot(s + 1, next)];
                add(rest_usage_[at], choice, n_homes_ - 1);
            }
    const auto arrive = [&](size_t s, At from, double spent) {
        for (int g = kHost; g < n_devices; ++g) {
            At to = from;
            if (!step(to, g)) continue;
            double& b = before_[slot(s, to)];
            b = std::min(b, spent + move(from.home, g));
        }
    };
    arrive(0, start(), 0);
    for (size_t s = 0; s < n_stages; ++s)
        for (int h = kHost; h < n_devices; ++h)
            for (int left = 0; left <= kind_.changes; ++left) {
                const double b = before_[slot(s, {h, left})];
                if (b < kNever) arrive(s + 1, {h, left}, b + stage_cost_[s * n_homes_ + index(h)]);
            }
}

void PricedChain::append_rest(size_t s, At at, std::vector<uint32_t>& picks) const {
    for (; s < families_.size(); ++s) {
        const int home = next_home_[slot(s, at)];
        step(at, home);
        picks.push_back(best_[s * n_homes_ + index(home)]);
    }
}

std::vector<uint32_t> PricedChain::picks() const {
    std::vector<uint32_t> picks;
    append_rest(0, start(), picks);
    return picks;
}

std::vector<Kind> kinds_of_chains(size_t n_devices) {
    if (n_devices == 0) return {{0, false}};
    std::vector<Kind> kinds = {{0, false}};
    const auto n = static_cast<int>(n_devices);
    for (int changes = 2; changes <= n + 1; ++changes) kinds.push_back({changes, false});
    kinds.push_back({n + 2, true});
    return kinds;
}

TwoChains find_prices(const ChainProblem& problem, PricedChain& chain, double host_price) {
    if (problem.capacity.size() == 1) return find_one_price(problem, chain, host_price);
    if (problem.capacity.empty()) chain.set_prices({}, host_price);
    else find_prices_of_several(problem, chain, host_price);
    TwoChains two;
    if (!chain.exists()) return two;
    const std::vector<double> best = chain.prices();
    if (!fits_devices(problem, chain.usage())) two.over = chain.picks();
    // The best prices are kept; a chain that fits comes from raising those of the devices that are too full.
    std::vector<double> prices = best;
    double factor = 1e-6, highest = 0;
    while (!fits_devices(problem, chain.usage()) && highest < kHighestPrice) {
        const std::vector<double> over = excess(problem, chain);
        for (size_t d = 0; d < prices.size(); ++d) {
            if (over[d] > 0) prices[d] = std::max(prices[d], 1e-18) * (1 + factor);
            highest = std::max(highest, prices[d]);
        }
        factor = std::min(factor * 1.5, 3.0);
        chain.set_prices(prices, host_price);
    }
    if (fits_devices(problem, chain.usage())) two.fitting = chain.picks();
    if (!two.over.empty()) chain.set_prices(best, host_price);
    return two;
}

}  // namespace powerinfer::plan
