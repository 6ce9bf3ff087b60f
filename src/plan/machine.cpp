#include "plan/machine.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "plan/chain.h"

namespace powerinfer::plan {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kMostBytes = 1e15, kMostRate = 1e18;

void expect(bool good, const std::string& label, const std::string& field, double found, const char* wanted) {
    if (!good)
        fail(ErrorKind::bad_argument, "machine '{}': {} is {}, expected {}", label, field, found, wanted);
}

void check_rates(const Rates& r, const std::string& label, const std::string& where) {
    const auto bandwidth_is_good = [](double v) { return v >= 1e6 && v <= kMostRate; };
    expect(bandwidth_is_good(r.bandwidth), label, where + "bandwidth", r.bandwidth, "bytes per second from 1e6");
    expect(r.row_share > 0 && r.row_share <= 1, label, where + "row_share", r.row_share, "above 0 and at most 1");
    expect(r.macs_per_s == 0 || bandwidth_is_good(r.macs_per_s), label, where + "macs_per_s", r.macs_per_s,
           "0 or at least 1e6");
}

void check_memory(uint64_t memory, uint64_t reserved, const std::string& label, const std::string& where) {
    expect(memory > 0 && static_cast<double>(memory) <= kMostBytes, label, where + "memory", static_cast<double>(memory),
           "bytes up to 1e15");
    expect(reserved <= memory, label, where + "reserved", static_cast<double>(reserved), "at most the memory");
}

void add_rates(Json& out, const Rates& r) {
    out["bandwidth"] = r.bandwidth;
    out["row_share"] = r.row_share;
    out["macs_per_s"] = r.macs_per_s;
}

/// Reads the fields of one object and complains about those it was not asked for.
class Reader {
  public:
    Reader(const Json& object, std::string label, std::string where)
        : object_(object), label_(std::move(label)), where_(std::move(where)) {
        if (!object.is_object()) fail(ErrorKind::bad_file, "'{}': {} is not an object", label_, where_);
    }
    std::string string(const char* name) {
        const Json& v = find(name);
        if (!v.is_string()) wrong(name, "a text");
        return v.get<std::string>();
    }
    double number(const char* name) {
        const Json& v = find(name);
        if (!v.is_number()) wrong(name, "a number");
        return v.get<double>();
    }
    uint64_t bytes(const char* name) {
        const double v = number(name);
        if (!(v >= 0 && v <= kMostBytes && v == std::floor(v))) wrong(name, "a whole number of bytes up to 1e15");
        return static_cast<uint64_t>(v);
    }
    Rates rates() {
        Rates r;
        r.bandwidth = number("bandwidth");
        r.row_share = number("row_share");
        r.macs_per_s = number("macs_per_s");
        return r;
    }
    const Json& find(const char* name) {
        known_.push_back(name);
        const auto it = object_.find(name);
        if (it == object_.end()) fail(ErrorKind::bad_file, "'{}': {} has no field '{}'", label_, where_, name);
        return *it;
    }
    void done() const {
        for (const auto& [name, value] : object_.items())
            if (std::find(known_.begin(), known_.end(), name) == known_.end())
                fail(ErrorKind::bad_file, "'{}': {} has a field '{}' that is not known", label_, where_, name);
    }

  private:
    [[noreturn]] void wrong(const char* name, const char* wanted) const {
        fail(ErrorKind::bad_file, "'{}': field '{}' of {} is not {}", label_, name, where_, wanted);
    }
    const Json& object_;
    std::string label_, where_;
    std::vector<std::string> known_;
};

}  // namespace

double Rates::seconds(double bytes, double weights, double share) const {
    const double picked = share / row_share;
    const double read = std::min(picked, 1.0) * bytes / bandwidth;
    return macs_per_s > 0 ? std::max(read, share * weights / macs_per_s) : read;
}

const Machine& find_machine(std::string_view name) {
    std::string names;
    for (const Machine& m : described_machines()) {
        if (m.name == name) return m;
        names += (names.empty() ? "" : ", ") + m.name;
    }
    fail(ErrorKind::bad_argument, "there is no machine '{}': give one of {}, this for the one at hand, or a file", name, names);
}

void check(const Machine& m, const std::string& label) {
    check_memory(m.memory, m.reserved, label, "");
    check_rates(m.rates, label, "");
    expect(m.disk_bandwidth >= 1e6 && m.disk_bandwidth <= kMostRate, label, "disk_bandwidth", m.disk_bandwidth,
           "bytes per second from 1e6");
    expect(m.shared_bandwidth >= 0 && m.shared_bandwidth <= kMostRate, label, "shared_bandwidth", m.shared_bandwidth,
           "0 or bytes per second");
    if (m.devices.size() > kMaxDevices)
        fail(ErrorKind::bad_argument, "machine '{}' has {} devices, at most {} are planned for", label, m.devices.size(),
             kMaxDevices);
    for (const Device& d : m.devices) {
        const std::string where = d.name + ": ";
        check_memory(d.memory, d.reserved, label, where);
        check_rates(d.rates, label, where);
        const auto is_delay = [](double s) { return s >= 0 && s <= 1; };
        expect(is_delay(d.visit_s), label, where + "visit_s", d.visit_s, "seconds from 0 to 1");
        expect(is_delay(d.submit_s), label, where + "submit_s", d.submit_s, "seconds from 0 to 1");
        expect(d.bus_bandwidth >= 1e6 && d.bus_bandwidth <= kMostRate, label, where + "bus_bandwidth", d.bus_bandwidth,
               "bytes per second from 1e6");
        expect(d.alignment >= 1 && d.alignment <= (1u << 24), label, where + "alignment", d.alignment, "1 to 16777216");
    }
}

std::string to_json(const Machine& m) {
    Json out = {{"name", m.name}, {"source", m.source}, {"processor", m.processor}, {"memory", m.memory}, {"reserved", m.reserved}};
    add_rates(out, m.rates);
    out["disk_bandwidth"] = m.disk_bandwidth;
    out["shared_bandwidth"] = m.shared_bandwidth;
    out["devices"] = Json::array();
    for (const Device& d : m.devices) {
        Json row = {{"name", d.name}, {"kind", d.kind}, {"memory", d.memory}, {"reserved", d.reserved}};
        add_rates(row, d.rates);
        row["visit_s"] = d.visit_s;
        row["submit_s"] = d.submit_s;
        row["bus_bandwidth"] = d.bus_bandwidth;
        row["alignment"] = d.alignment;
        out["devices"].push_back(std::move(row));
    }
    return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Machine machine_from_json(std::string_view text, const std::string& label) {
    const Json json = Json::parse(text, nullptr, false);
    if (json.is_discarded()) fail(ErrorKind::bad_file, "'{}' is not JSON, expected the description of a machine", label);
    Machine m;
    Reader top(json, label, "the machine");
    m.name = top.string("name");
    m.source = top.string("source");
    m.processor = top.string("processor");
    m.memory = top.bytes("memory");
    m.reserved = top.bytes("reserved");
    m.rates = top.rates();
    m.disk_bandwidth = top.number("disk_bandwidth");
    m.shared_bandwidth = top.number("shared_bandwidth");
    const Json& devices = top.find("devices");
    if (!devices.is_array()) fail(ErrorKind::bad_file, "'{}': field 'devices' of the machine is not a list", label);
    for (const Json& row : devices) {
        Reader in(row, label, fmt::format("device {}", m.devices.size()));
        Device d;
        d.name = in.string("name");
        d.kind = in.string("kind");
        d.memory = in.bytes("memory");
        d.reserved = in.bytes("reserved");
        d.rates = in.rates();
        d.visit_s = in.number("visit_s");
        d.submit_s = in.number("submit_s");
        d.bus_bandwidth = in.number("bus_bandwidth");
        d.alignment = static_cast<uint32_t>(std::min<uint64_t>(in.bytes("alignment"), UINT32_MAX));
        in.done();
        m.devices.push_back(std::move(d));
    }
    top.done();
    check(m, label);
    return m;
}

}  // namespace powerinfer::plan
