// Prices per byte for a ChainProblem and the bound they prove. Used by the search in chain.cpp only.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "plan/chain.h"

namespace powerinfer::plan {

/// What the chain uses of every resource: the devices, then the host.
using Usage = std::array<uint64_t, kMaxDevices + 1>;

/// Chains by how often they change their home on the way from the host to the host. Changes cost time that a price per byte
/// does not see, so bounds are found for each kind of chain by itself.
struct Kind {
    int changes = 0;
    bool or_more = false;
};
std::vector<Kind> kinds_of_chains(size_t n_devices);

/// The fastest chain of a kind at given prices, by going backwards over the stages.
class PricedChain {
  public:
    PricedChain(const ChainProblem& problem, Kind kind);

    /// Seconds per byte of each device, and of the host.
    void set_prices(const std::vector<double>& device, double host);
    /// To be called after the last set_prices, before `before`, `rest_seconds` and `rest_usage` are asked for.
    void prepare();
    double cost(const Choice& c) const {
        return c.seconds + host_price_ * static_cast<double>(c.host_bytes) +
               (c.device == kHost ? 0 : price_[static_cast<size_t>(c.device)] * static_cast<double>(c.bytes));
    }

    /// Where a chain is between two stages: its home, and how many changes are left to make.
    struct At {
        int home;
        int left;
    };
    At start() const { return {kHost, kind_.changes}; }
    /// False where the change cannot be made.
    bool step(At& at, int to) const;
    double move(int from, int to) const { return problem_.move[index(from)][index(to)]; }

    /// Priced cost from stage `s` on; infinite where the kind cannot be kept.
    double rest(size_t s, At at) const { return rest_[slot(s, at)]; }
    /// Least priced cost up to stage `s`, the move to its home included and the stage itself not.
    double before(size_t s, At at) const { return before_[slot(s, at)]; }
    /// Time and usage of the chain that `rest` stands for.
    double rest_seconds(size_t s, At at) const { return rest_seconds_[slot(s, at)]; }
    const Usage& rest_usage(size_t s, At at) const { return rest_usage_[slot(s, at)]; }
    void append_rest(size_t s, At at, std::vector<uint32_t>& picks) const;

    /// The next choice with more (or less) device memory, of the same home and device, that some price makes the best; the
    /// choice itself where there is none.
    uint32_t neighbour(size_t s, uint32_t pick, bool more) const;

    /// What the capacities are worth: subtract it from a priced cost to get a bound on time.
    double worth() const { return worth_; }
    double bound() const { return rest(0, start()) - worth_; }
    const Usage& usage() const { return usage_; }
    std::vector<uint32_t> picks() const;
    const std::vector<double>& prices() const { return price_; }
    double host_price() const { return host_price_; }
    const Kind& kind() const { return kind_; }
    /// False where no chain is of this kind.
    bool exists() const { return rest(0, start()) < std::numeric_limits<double>::infinity(); }

  private:
    /// Choices of one stage with the same home and device, and those of them that some price makes the best.
    struct Family {
        int home, device;
        std::vector<uint32_t> members;  // by bytes
        std::vector<uint32_t> hull;
    };
    static size_t index(int home) { return static_cast<size_t>(home + 1); }
    size_t slot(size_t s, At at) const {
        return (s * n_homes_ + index(at.home)) * static_cast<size_t>(kind_.changes + 1) + static_cast<size_t>(at.left);
    }
    void make_hull(size_t stage, Family& family) const;
    uint32_t best_of(size_t stage, const Family& family) const;

    const ChainProblem& problem_;
    Kind kind_;
    size_t n_homes_;
    std::vector<std::vector<Family>> families_;  // [stage]
    std::vector<double> price_;
    double host_price_ = 0, hull_host_price_ = -1, worth_ = 0;
    std::vector<double> rest_, before_, rest_seconds_;  // [stage + 1][home][left]
    std::vector<Usage> rest_usage_;
    Usage usage_ = {};
    std::vector<int> next_home_;
    std::vector<double> stage_cost_;  // [stage][home]
    std::vector<uint32_t> best_;  // [stage][home] choice
};

/// Sets prices that (nearly) maximise the bound. Gives chains on both sides of them: one that fits the devices, and, unless
/// that is the best priced one, the best priced one.
struct TwoChains {
    std::vector<uint32_t> fitting, over;
};
TwoChains find_prices(const ChainProblem& problem, PricedChain& chain, double host_price);

bool fits_devices(const ChainProblem& problem, const Usage& usage);

}  // namespace powerinfer::plan
