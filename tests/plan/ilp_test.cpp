// The search against an integer program of the same objective, written down anew and solved by CBC (Debian: coinor-cbc), and
// against the integer program of the PowerInfer paper. Skipped where the program cbc is not installed.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cmath>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "plan/cases.h"
#include "temporary_folder.h"

namespace powerinfer::plan {
namespace {

using powerinfer::test::TemporaryFolder;

/// An integer program in the LP format, times in microseconds, sizes in bytes.
class Program {
  public:
    using Terms = std::vector<std::pair<double, std::string>>;

    void minimise(double factor, const std::string& name) { objective_.push_back({factor, name}); }
    void at_least(const Terms& terms, double right) { rows_ << text(terms) << " >= " << right << "\n"; }
    void at_most(const Terms& terms, double right) { rows_ << text(terms) << " <= " << right << "\n"; }
    std::string binary(const std::string& name) {
        binaries_.insert(name);
        return name;
    }

    /// The best value and the variables that are not zero.
    std::pair<double, std::map<std::string, double>> solve(const TemporaryFolder& folder) const {
        {
            std::ofstream lp(folder / "p.lp");
            lp.precision(17);
            lp << "Minimize\n" << text(objective_) << "\nSubject To\n" << rows_.str() << "Binaries\n";
            for (const std::string& b : binaries_) lp << b << "\n";
            lp << "End\n";
        }
        const std::string command = "cbc " + (folder / "p.lp") + " ratio 0 allow 1e-9 sec 20 solve solution " + (folder / "p.sol") + " > /dev/null";
        EXPECT_EQ(std::system(command.c_str()), 0);
        std::ifstream sol(folder / "p.sol");
        std::string line;
        std::getline(sol, line);
        EXPECT_EQ(line.rfind("Optimal", 0), 0u) << line;
        std::map<std::string, double> values;
        const double best = std::stod(line.substr(line.rfind(' ')));
        std::string index, name;
        double value = 0, reduced = 0;
        while (sol >> index >> name >> value >> reduced) values[name] = value;
        return {best, values};
    }

    Program() { rows_.precision(17); }

  private:
    static std::string text(const Terms& terms) {
        std::ostringstream out;
        out.precision(17);
        std::map<std::string, double> factors;  // every variable once
        for (const auto& [factor, name] : terms) factors[name] += factor;
        for (const auto& [name, factor] : factors) out << (factor < 0 ? " - " : " + ") << std::fabs(factor) << " " << name << "\n";
        return out.str();
    }
    Terms objective_;
    std::ostringstream rows_;
    std::set<std::string> binaries_;
};

double up_to(double bytes, uint32_t alignment) { return std::ceil(bytes / alignment) * alignment; }

double sum_up_to(const std::vector<uint64_t>& tensors, uint32_t alignment) {
    double sum = 0;
    for (const uint64_t t : tensors) sum += up_to(static_cast<double>(t), alignment);
    return sum;
}

/// Seconds for a piece on one side, and for a group.
double seconds(const Rates& r, const Piece& p, double share = 1) {
    return std::max(std::min(share / r.row_share, 1.0) * p.bytes / r.bandwidth, r.macs_per_s > 0 ? share * p.weights / r.macs_per_s : 0);
}
double seconds(const Rates& r, const LayerLoad& l, const Group& g) {
    return g.n_neurons * (seconds(r, l.always) + seconds(r, l.fired, g.frequency));
}

std::string name(const char* what, size_t layer, size_t group = 0) {
    return std::string(what) + std::to_string(layer) + "_" + std::to_string(group);
}

constexpr double kMicro = 1e6;

/// One device, memories apart, RAM without limit. Constants of the objective go into a variable that is 1.
double by_integer_program(const Workload& w, const Machine& m, const TemporaryFolder& folder) {
    const Device& d = m.devices[0];
    const double way = kMicro * (d.visit_s + w.n_embd * 4.0 / d.bus_bandwidth), round = 2 * way, submit = kMicro * d.submit_s;
    Program ilp;
    Program::Terms memory;
    double constant = 0;
    std::string before;  // of a layer: at home with the device
    const auto moves = [&](size_t i, const std::string& from, const std::string& to) {
        const std::string move = name("move", i);
        ilp.minimise(way, move);
        Program::Terms forth = {{1, move}}, back = {{1, move}};
        if (!from.empty()) forth.push_back({-1, from}), back.push_back({1, from});
        if (!to.empty()) forth.push_back({1, to}), back.push_back({-1, to});
        ilp.at_least(forth, 0);
        ilp.at_least(back, 0);
    };
    for (size_t i = 0; i < w.layers.size(); ++i) {
        const LayerLoad& l = w.layers[i];
        const std::string home = ilp.binary(name("home", i)), cache = ilp.binary(name("cache", i)), time = name("time", i), apart = name("apart", i);
        const Piece kv{static_cast<double>(l.kv_bytes) * w.read_share_of_kv, 0};
        constant += kMicro * (seconds(m.rates, l.attention) + seconds(m.rates, kv));
        ilp.minimise(kMicro * (seconds(d.rates, l.attention) - seconds(m.rates, l.attention)), home);
        ilp.minimise(kMicro * (seconds(d.rates, kv) - seconds(m.rates, kv)), cache);
        ilp.minimise(round + submit, apart);
        ilp.at_least({{1, apart}, {-1, home}, {1, cache}}, 0);
        ilp.at_least({{1, apart}, {1, home}, {-1, cache}}, 0);
        memory.push_back({sum_up_to(l.attention_tensors, d.alignment), home});
        memory.push_back({2 * up_to(static_cast<double>(l.kv_bytes / 2), d.alignment), cache});

        const size_t n = l.groups.size();
        const std::string some = name("x", i, 0), all = name("x", i, n - 1);
        const double host_shared = kMicro * seconds(m.rates, l.shared);
        Program::Terms device = {{1, time}, {-kMicro * seconds(d.rates, l.shared), some}};
        Program::Terms host = {{1, time}, {host_shared, all}};
        double host_work = host_shared, neurons = 0;
        memory.push_back({sum_up_to(l.shared_tensors, d.alignment), some});
        for (size_t g = 0; g < n; ++g) {
            const std::string x = ilp.binary(name("x", i, g));
            if (g > 0) ilp.at_least({{1, name("x", i, g - 1)}, {-1, x}}, 0);
            const double on_host = kMicro * seconds(m.rates, l, l.groups[g]);
            host_work += on_host;
            host.push_back({on_host, x});
            device.push_back({-kMicro * seconds(d.rates, l, l.groups[g]), x});
            double bytes = 0;
            for (const uint32_t row : l.row_bytes)
                bytes += up_to(row * (neurons + l.groups[g].n_neurons), d.alignment) - up_to(row * neurons, d.alignment);
            neurons += l.groups[g].n_neurons;
            memory.push_back({bytes, x});
        }
        device.push_back({-round, some});
        device.push_back({round, home});
        ilp.at_least(device, 0);
        Program::Terms host_asked = host, host_asks = host;
        host_asked.push_back({-(round + submit), home});
        host_asked.push_back({round + submit, all});
        host_asks.push_back({-submit, some});
        host_asks.push_back({submit, home});
        ilp.at_least(host, host_work);
        ilp.at_least(host_asked, host_work);
        ilp.at_least(host_asks, host_work);
        ilp.minimise(1, time);
        moves(i, before, home);
        before = home;
    }
    const std::string head = ilp.binary("head");
    const double on_host = seconds(m.rates, w.head), on_device = seconds(d.rates, w.head) + w.n_vocab * 4.0 / d.bus_bandwidth;
    constant += kMicro * on_host;
    ilp.minimise(kMicro * (on_device - on_host), head);
    memory.push_back({sum_up_to(w.head_tensors, d.alignment), head});
    moves(w.layers.size(), before, head);
    moves(w.layers.size() + 1, head, "");
    ilp.at_most(memory, static_cast<double>(room_on(m, 0, w, {})));
    return (ilp.solve(folder).first + constant) / kMicro;
}

/// Of the paper: the most frequent neurons, where a layer that uses the device at all has enough to make up for the visit.
Placement of_the_paper(const Workload& w, const Machine& m, const TemporaryFolder& folder) {
    const Device& d = m.devices[0];
    Program ilp;
    Program::Terms memory;
    for (size_t i = 0; i < w.layers.size(); ++i) {
        const LayerLoad& l = w.layers[i];
        const double gain = seconds(m.rates, l.fired) - seconds(d.rates, l.fired);
        const double visit = 2 * (d.visit_s + w.n_embd * 4.0 / d.bus_bandwidth);
        const double fewest = gain > 0 ? visit / gain : 1e9;
        const std::string uses = ilp.binary(name("uses", i));
        Program::Terms enough = {{-fewest, uses}};
        for (size_t g = 0; g < l.groups.size(); ++g) {
            const std::string x = ilp.binary(name("x", i, g));
            ilp.minimise(-l.groups[g].frequency * l.groups[g].n_neurons, x);
            ilp.at_least({{1, uses}, {-1, x}}, 0);
            enough.push_back({l.groups[g].n_neurons, x});
            double bytes = 0;
            for (const uint32_t row : l.row_bytes) bytes += up_to(row * l.groups[g].n_neurons, d.alignment);
            memory.push_back({bytes, x});
        }
        ilp.at_least(enough, 0);
        memory.push_back({sum_up_to(l.shared_tensors, d.alignment), uses});
    }
    ilp.at_most(memory, static_cast<double>(room_on(m, 0, w, {})));
    const auto values = ilp.solve(folder).second;
    Placement p;
    p.layers.resize(w.layers.size());
    for (size_t i = 0; i < w.layers.size(); ++i) {
        uint32_t k = 0;
        for (size_t g = 0; g < w.layers[i].groups.size(); ++g) {
            const auto x = values.find(name("x", i, g));
            k += x != values.end() && x->second > 0.5;
        }
        if (k > 0) p.layers[i] = {.home = kHost, .device = 0, .kv_on_device = false, .n_groups = k};
    }
    return p;
}

bool has_cbc() { return std::system("command -v cbc > /dev/null 2>&1") == 0; }

/// 200 cases in four parts that can run side by side.
class IntegerProgramPart : public testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(Seeds, IntegerProgramPart, testing::Values(11u, 12u, 13u, 14u));

TEST_P(IntegerProgramPart, OfTheSameObjectiveFindsNothingBetter) {
    if (!has_cbc()) GTEST_SKIP() << "the program cbc (coinor-cbc) is not installed";
    const TemporaryFolder folder;
    std::mt19937 random(GetParam());
    for (int i = 0; i < 50; ++i) {
        const Workload w = test::random_workload(random, test::integer(random, 3, 4), test::integer(random, 3, 8));
        Machine m = test::random_machine(random, w, 1);
        m.shared_bandwidth = 0;
        const Solution s = place(w, m, {});
        EXPECT_LE(s.gap(), 1e-12);
        ASSERT_NEAR(s.expected.seconds, by_integer_program(w, m, folder), 1e-6 * s.expected.seconds) << "case " << i;
    }
}

TEST(IntegerProgram, OfThePaperIsNeverFaster) {
    if (!has_cbc()) GTEST_SKIP() << "the program cbc (coinor-cbc) is not installed";
    const TemporaryFolder folder;
    std::mt19937 random(12);
    int faster = 0;
    for (int i = 0; i < 40; ++i) {
        const Workload w = test::random_workload(random, 4, 8);
        const Machine m = test::random_machine(random, w, 1);
        const double theirs = expect(w, m, {}, of_the_paper(w, m, folder)).seconds, ours = place(w, m, {}).expected.seconds;
        EXPECT_LE(ours, theirs * (1 + 1e-12)) << "case " << i;
        faster += ours < 0.99 * theirs;
    }
    EXPECT_GT(faster, 10);
}

}  // namespace
}  // namespace powerinfer::plan
