#include "plan/chain.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <queue>

#include "plan/chain_prices.h"

namespace powerinfer::plan {
namespace {

/// Differences below this share of the result are rounding.
constexpr double kRounding = 1e-13;

Usage usage_of(const ChainProblem& problem, const std::vector<uint32_t>& picks) {
    Usage usage = {};
    for (size_t s = 0; s < picks.size(); ++s) {
        const Choice& c = problem.stages[s][picks[s]];
        if (c.device != kHost) usage[static_cast<size_t>(c.device)] += c.bytes;
        usage[problem.capacity.size()] += c.host_bytes;
    }
    return usage;
}

/// The fastest chain known so far.
class Best {
  public:
    explicit Best(const ChainProblem& problem) : problem_(problem) {}

    double seconds() const { return seconds_; }
    const std::vector<uint32_t>& picks() const { return picks_; }

    /// Takes a chain that fits, if it is faster.
    void offer(const std::vector<uint32_t>& picks) {
        if (picks.empty() || !fits_devices(problem_, usage_of(problem_, picks))) return;
        const double seconds = chain_seconds(problem_, picks);
        if (seconds < seconds_) seconds_ = seconds, picks_ = picks;
    }
    /// Chains that begin like the one and end like the other, filled up; and the best of them improved.
    void offer_mixtures(const TwoChains& two, const PricedChain& prices);
    /// Changes one stage at a time, as long as that fits and makes the chain faster.
    void improve();

  private:
    void fill(std::vector<uint32_t>& picks, const PricedChain& prices) const;

    const ChainProblem& problem_;
    std::vector<uint32_t> picks_;
    double seconds_ = std::numeric_limits<double>::infinity();
};

/// Gives memory back where that costs the least time per byte until the chain fits, then takes it where it saves most.
void Best::fill(std::vector<uint32_t>& picks, const PricedChain& prices) const {
    struct Step {
        double seconds_per_byte;
        size_t stage;
        uint32_t from, to;
        bool operator<(const Step& other) const {
            return seconds_per_byte != other.seconds_per_byte ? seconds_per_byte < other.seconds_per_byte : stage > other.stage;
        }
    };
    Usage usage = usage_of(problem_, picks);
    for (const bool more : {false, true}) {
        std::priority_queue<Step> steps;  // of several, the largest
        const auto look = [&](size_t s) {
            const uint32_t to = prices.neighbour(s, picks[s], more);
            if (to == picks[s]) return;
            const Choice &x = problem_.stages[s][picks[s]], &y = problem_.stages[s][to];
            const double bytes = static_cast<double>(y.bytes) - static_cast<double>(x.bytes);
            const double density = (prices.cost(x) - prices.cost(y)) / bytes;  // the device's price is the same for all
            steps.push({more ? density : -density, s, picks[s], to});
        };
        for (size_t s = 0; s < picks.size(); ++s) look(s);
        while (!steps.empty() && (more || !fits_devices(problem_, usage))) {
            const Step step = steps.top();
            steps.pop();
            const Choice &x = problem_.stages[step.stage][step.from], &y = problem_.stages[step.stage][step.to];
            const auto d = static_cast<size_t>(y.device == kHost ? x.device : y.device);
            if (!more && usage[d] <= problem_.capacity[d]) continue;
            const auto host_cost = [&](const Choice& c) { return c.seconds + prices.host_price() * static_cast<double>(c.host_bytes); };
            if (more && (usage[d] + y.bytes - x.bytes > problem_.capacity[d] || host_cost(y) > host_cost(x))) continue;
            usage[d] += y.bytes - x.bytes;
            picks[step.stage] = step.to;
            look(step.stage);
        }
    }
}

void Best::offer_mixtures(const TwoChains& two, const PricedChain& prices) {
    Best mixed(problem_);
    mixed.offer(two.fitting);
    if (!two.over.empty()) {
        struct Mixture {
            double distance;  // from using the devices up, at their prices
            std::vector<uint32_t> picks;
        };
        std::vector<Mixture> mixtures;
        const std::vector<uint32_t>& fitting = two.fitting.empty() ? two.over : two.fitting;
        for (size_t s = 0; s <= two.over.size(); ++s)
            for (const auto& [from, to] : {std::pair{&two.over, &fitting}, std::pair{&fitting, &two.over}}) {
                std::vector<uint32_t> picks(from->begin(), from->begin() + static_cast<std::ptrdiff_t>(s));
                picks.insert(picks.end(), to->begin() + static_cast<std::ptrdiff_t>(s), to->end());
                const Usage usage = usage_of(problem_, picks);
                double distance = 0;
                for (size_t d = 0; d < problem_.capacity.size(); ++d)
                    distance += prices.prices()[d] *
                                std::fabs(static_cast<double>(usage[d]) - static_cast<double>(problem_.capacity[d]));
                mixtures.push_back({distance, std::move(picks)});
            }
        std::stable_sort(mixtures.begin(), mixtures.end(),
                         [](const Mixture& a, const Mixture& b) { return a.distance < b.distance; });
        constexpr size_t kTried = 12;
        if (mixtures.size() > kTried) mixtures.resize(kTried);
        for (Mixture& m : mixtures) {
            fill(m.picks, prices);
            mixed.offer(m.picks);
        }
    }
    mixed.improve();
    offer(mixed.picks_);
}

void Best::improve() {
    if (picks_.empty()) return;
    const size_t host = problem_.capacity.size();
    Usage usage = usage_of(problem_, picks_);
    for (int round = 0; round < 8; ++round) {
        double most = 0;
        size_t stage = 0;
        uint32_t pick = 0;
        for (size_t s = 0; s < picks_.size(); ++s) {
            const std::vector<Choice>& choices = problem_.stages[s];
            const Choice& now = choices[picks_[s]];
            const auto before = static_cast<size_t>(s > 0 ? problem_.stages[s - 1][picks_[s - 1]].home + 1 : 0);
            const auto after = static_cast<size_t>(s + 1 < picks_.size() ? problem_.stages[s + 1][picks_[s + 1]].home + 1 : 0);
            const auto seconds = [&](const Choice& c) {
                const auto home = static_cast<size_t>(c.home + 1);
                return problem_.move[before][home] + c.seconds + problem_.move[home][after];
            };
            const double now_seconds = seconds(now) + problem_.excess_seconds(usage[host]);
            for (uint32_t i = 0; i < choices.size(); ++i) {
                const Choice& c = choices[i];
                if (now_seconds - c.seconds <= most) continue;
                const double gain =
                    now_seconds - seconds(c) - problem_.excess_seconds(usage[host] + c.host_bytes - now.host_bytes);
                if (!(gain > most)) continue;
                Usage with = usage;
                if (now.device != kHost) with[static_cast<size_t>(now.device)] -= now.bytes;
                if (c.device != kHost) with[static_cast<size_t>(c.device)] += c.bytes;
                if (fits_devices(problem_, with)) most = gain, stage = s, pick = i;
            }
        }
        if (!(most > seconds_ * kRounding)) break;
        picks_[stage] = pick;
        usage = usage_of(problem_, picks_);
        seconds_ = chain_seconds(problem_, picks_);
    }
}

/// A chain up to some stage.
struct Partial {
    double seconds = 0, bound = 0;  ///< bound: no chain that begins like this is faster
    Usage usage = {};
    PricedChain::At at = {kHost, 0};
    uint32_t parent = 0, pick = 0;
};

/// Looks through the chains of one kind, stage by stage.
class Search {
  public:
    /// `prices` must be prepared.
    Search(const ChainProblem& problem, const PricedChain& prices, Best& best, double gap)
        : problem_(problem), prices_(prices), best_(best), n_devices_(problem.capacity.size()), gap_(std::max(gap, kRounding)) {
        for (size_t r = 0; r < n_devices_; ++r) counted_.push_back(r);
        if (prices.host_price() > 0) counted_.push_back(n_devices_);
    }

    /// Keeps at most `n_states` partial chains per stage. Gives a bound for the time of all chains of the kind, exact but
    /// for `gap` where none had to be let go of.
    double run(size_t n_states, size_t most_steps) {
        n_steps_ = most_steps;
        dropped_ = std::numeric_limits<double>::infinity();
        levels_.assign(1, {});
        levels_[0].push_back({.seconds = 0, .bound = prices_.bound(), .usage = {}, .at = prices_.start()});
        for (size_t s = 0; s < problem_.stages.size() && !levels_[s].empty(); ++s) extend(s, n_states);
        return n_steps_ == 0 ? prices_.bound() : std::min(dropped_, limit());
    }

    bool gave_up() const { return n_steps_ == 0; }

  private:
    struct Candidate {
        uint32_t pick;
        double cost;
    };
    double limit() const { return best_.seconds() * (1 - gap_); }

    double spent(const Partial& p) const {
        double cost = p.seconds + prices_.host_price() * static_cast<double>(p.usage[n_devices_]) - prices_.worth();
        for (size_t d = 0; d < n_devices_; ++d) cost += prices_.prices()[d] * static_cast<double>(p.usage[d]);
        return cost;
    }

    /// Choices of a stage that a chain better than the best known can still have, cheapest first, [home + 1].
    std::vector<std::vector<Candidate>> candidates(size_t s) const {
        std::vector<double> around(n_devices_ + 1, std::numeric_limits<double>::infinity());
        for (size_t h = 0; h <= n_devices_; ++h)
            for (int left = 0; left <= prices_.kind().changes; ++left) {
                const PricedChain::At at{static_cast<int>(h) - 1, left};
                around[h] = std::min(around[h], prices_.before(s, at) + prices_.rest(s + 1, at) - prices_.worth());
            }
        std::vector<std::vector<Candidate>> lists(n_devices_ + 1);
        const std::vector<Choice>& choices = problem_.stages[s];
        for (uint32_t i = 0; i < choices.size(); ++i) {
            const auto h = static_cast<size_t>(choices[i].home + 1);
            const double cost = prices_.cost(choices[i]);
            if (around[h] + cost < limit()) lists[h].push_back({i, cost});
        }
        for (auto& list : lists)
            std::sort(list.begin(), list.end(), [](const Candidate& a, const Candidate& b) {
                return a.cost != b.cost ? a.cost < b.cost : a.pick < b.pick;
            });
        return lists;
    }

    void extend(size_t s, size_t n_states) {
        const std::vector<Choice>& choices = problem_.stages[s];
        const auto lists = candidates(s);
        std::vector<Partial> next;
        for (uint32_t p = 0; p < levels_[s].size() && n_steps_ > 0; ++p) {
            const Partial from = levels_[s][p];
            const double so_far = spent(from);
            for (size_t h = 0; h < lists.size(); ++h) {
                const int home = static_cast<int>(h) - 1;
                PricedChain::At at = from.at;
                if (!prices_.step(at, home)) continue;
                const double move = prices_.move(from.at.home, home);
                const double others = so_far + move + prices_.rest(s + 1, at);
                for (const Candidate& c : lists[h]) {
                    if (others + c.cost >= limit() || n_steps_ == 0) break;
                    --n_steps_;
                    const Choice& choice = choices[c.pick];
                    Partial to{from.seconds + move + choice.seconds, others + c.cost, from.usage, at, p, c.pick};
                    if (choice.device != kHost) to.usage[static_cast<size_t>(choice.device)] += choice.bytes;
                    to.usage[n_devices_] += choice.host_bytes;
                    if (!fits_devices(problem_, to.usage)) continue;
                    next.push_back(to);
                    complete(s, to);
                }
            }
            if (next.size() > 64 * n_states) next = reduce(std::move(next), n_states);
        }
        levels_.push_back(reduce(std::move(next), n_states));
    }

    /// Goes on from a partial chain as the prices say.
    void complete(size_t s, const Partial& partial) {
        const double rest_seconds = prices_.rest_seconds(s + 1, partial.at);
        if (partial.seconds + rest_seconds >= best_.seconds() * (1 - kRounding)) return;
        Usage usage = partial.usage;
        const Usage& rest = prices_.rest_usage(s + 1, partial.at);
        for (size_t r = 0; r <= n_devices_; ++r) usage[r] += rest[r];
        const double excess = problem_.excess_seconds(usage[n_devices_]);
        if (!fits_devices(problem_, usage) || partial.seconds + rest_seconds + excess >= best_.seconds() * (1 - kRounding)) return;
        std::vector<uint32_t> picks(s + 1);
        picks[s] = partial.pick;
        uint32_t parent = partial.parent;
        for (size_t i = s; i-- > 0;) {
            const Partial& p = levels_[i + 1][parent];
            picks[i] = p.pick;
            parent = p.parent;
        }
        prices_.append_rest(s + 1, partial.at, picks);
        best_.offer(picks);
    }

    /// Without dominated and hopeless partial chains, and of the others only the most promising.
    std::vector<Partial> reduce(std::vector<Partial> all, size_t n_states) {
        std::vector<uint32_t> order;
        for (uint32_t i = 0; i < all.size(); ++i)
            if (all[i].bound < limit()) order.push_back(i);
        const auto same_place = [](const Partial& x, const Partial& y) { return x.at.home == y.at.home && x.at.left == y.at.left; };
        std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
            const Partial &x = all[a], &y = all[b];
            if (x.at.home != y.at.home) return x.at.home < y.at.home;
            if (x.at.left != y.at.left) return x.at.left < y.at.left;
            for (const size_t r : counted_)
                if (x.usage[r] != y.usage[r]) return x.usage[r] < y.usage[r];
            return x.seconds != y.seconds ? x.seconds < y.seconds : a < b;
        });
        std::vector<uint32_t> kept;
        std::map<uint64_t, double> stairs;  // of two resources: usage of the second -> least seconds
        for (const uint32_t i : order) {
            const Partial& x = all[i];
            const bool new_place = kept.empty() || !same_place(all[kept.back()], x);
            if (new_place) stairs.clear();
            if (!new_place && is_dominated(x, all[kept.back()], stairs)) continue;
            if (counted_.size() == 2) {
                auto stair = stairs.insert_or_assign(x.usage[counted_[1]], x.seconds).first;
                for (++stair; stair != stairs.end() && stair->second >= x.seconds;) stair = stairs.erase(stair);
            }
            kept.push_back(i);
        }
        if (kept.size() > n_states) {
            const auto end = kept.begin() + static_cast<std::ptrdiff_t>(n_states);
            std::nth_element(kept.begin(), end, kept.end(), [&](uint32_t a, uint32_t b) {
                return all[a].bound != all[b].bound ? all[a].bound < all[b].bound : a < b;
            });
            for (auto it = end; it != kept.end(); ++it) dropped_ = std::min(dropped_, all[*it].bound);
            kept.erase(end, kept.end());
            std::sort(kept.begin(), kept.end());
        }
        std::vector<Partial> result;
        for (const uint32_t i : kept) result.push_back(all[i]);
        return result;
    }

    /// Sorted as in reduce: `last` uses no more of the first resource.
    bool is_dominated(const Partial& x, const Partial& last, const std::map<uint64_t, double>& stairs) const {
        if (counted_.size() <= 1) return last.seconds <= x.seconds;
        if (counted_.size() == 2) {
            auto stair = stairs.upper_bound(x.usage[counted_[1]]);
            return stair != stairs.begin() && (--stair)->second <= x.seconds;
        }
        for (const size_t r : counted_)
            if (last.usage[r] > x.usage[r]) return false;
        return last.seconds <= x.seconds;
    }

    const ChainProblem& problem_;
    const PricedChain& prices_;
    Best& best_;
    size_t n_devices_;
    double gap_, dropped_ = 0;
    size_t n_steps_ = 0;           ///< left to make
    std::vector<size_t> counted_;  ///< resources that may become full
    std::vector<std::vector<Partial>> levels_;
};

/// Raises the price of host memory from 0 just as far as a chain that fits it takes, at most to what excess costs.
TwoChains find_host_price(const ChainProblem& problem, PricedChain& chain) {
    const size_t host = problem.capacity.size();
    TwoChains two;
    const auto fits_at = [&](double price) {
        two = find_prices(problem, chain, price);
        return two.fitting.empty() || usage_of(problem, two.fitting)[host] <= problem.host_capacity;
    };
    if (fits_at(0) || problem.seconds_per_excess <= 0 || !fits_at(problem.seconds_per_excess)) return two;
    double low = problem.seconds_per_excess * 1e-4, high = problem.seconds_per_excess;
    while (high > low * 1.02) {
        const double middle = std::sqrt(low * high);
        (fits_at(middle) ? high : low) = middle;
    }
    fits_at(high);
    return two;
}

}  // namespace

double chain_seconds(const ChainProblem& problem, const std::vector<uint32_t>& picks) {
    double seconds = problem.excess_seconds(usage_of(problem, picks)[problem.capacity.size()]);
    int home = kHost;
    for (size_t s = 0; s < picks.size(); ++s) {
        const Choice& c = problem.stages[s][picks[s]];
        seconds += problem.move[static_cast<size_t>(home + 1)][static_cast<size_t>(c.home + 1)] + c.seconds;
        home = c.home;
    }
    return seconds + problem.move[static_cast<size_t>(home + 1)][0];
}

namespace {

struct PricedKind {
    std::unique_ptr<PricedChain> prices;
    TwoChains chains;
};

/// Prices for every kind of chain there is, most promising first.
std::vector<PricedKind> price_kinds(const ChainProblem& problem) {
    std::vector<PricedKind> kinds;
    for (const Kind kind : kinds_of_chains(problem.capacity.size())) {
        PricedKind k{std::make_unique<PricedChain>(problem, kind), {}};
        k.chains = find_host_price(problem, *k.prices);
        if (!k.prices->exists()) continue;
        k.prices->prepare();
        kinds.push_back(std::move(k));
    }
    std::stable_sort(kinds.begin(), kinds.end(),
                     [](const PricedKind& a, const PricedKind& b) { return a.prices->bound() < b.prices->bound(); });
    return kinds;
}

/// Raises the bound of one kind of chains, and finds better chains, until the gap is proven.
double search_kind(const ChainProblem& problem, const PricedChain& prices, Best& best, const ChainOptions& options) {
    size_t n_choices = 0;
    for (const auto& stage : problem.stages) n_choices += stage.size();
    double bound = prices.bound();
    const auto is_proven = [&] { return bound >= best.seconds() * (1 - options.gap); };
    const bool is_small = n_choices <= options.exact_choices;
    const size_t most_steps = is_small || problem.capacity.size() == 1 ? SIZE_MAX : options.most_steps;
    if (is_small)
        for (size_t n = options.n_states; n <= options.most_states / 4 && bound < best.seconds() * (1 - kRounding); n *= 4)
            bound = std::max(bound, Search(problem, prices, best, 0).run(n, most_steps));
    // Where steps are limited, a narrow search first finds better chains all along the way.
    for (size_t n = most_steps == SIZE_MAX ? options.n_states : 4; n <= options.most_states && !is_proven(); n *= 4) {
        Search search(problem, prices, best, options.gap * 0.99);
        bound = std::max(bound, search.run(n, most_steps));
        if (search.gave_up()) break;
    }
    return bound;
}

}  // namespace

ChainResult solve_chain(const ChainProblem& problem, const ChainOptions& options) {
    const std::vector<PricedKind> kinds = price_kinds(problem);
    Best best(problem);
    for (const PricedKind& k : kinds) best.offer_mixtures(k.chains, *k.prices);
    ChainResult result;
    result.bound = std::numeric_limits<double>::infinity();
    for (const PricedKind& k : kinds) result.bound = std::min(result.bound, search_kind(problem, *k.prices, best, options));
    result.picks = best.picks();
    result.seconds = best.seconds();
    result.bound = std::min(result.bound, result.seconds);
    const Usage usage = usage_of(problem, result.picks);
    result.used.assign(usage.begin(), usage.begin() + static_cast<std::ptrdiff_t>(problem.capacity.size()));
    result.host_used = usage[problem.capacity.size()];
    return result;
}

}  // namespace powerinfer::plan
