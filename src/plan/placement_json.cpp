// Placements as JSON.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "plan/placement_text.h"

namespace powerinfer::plan {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kFormat = "powerinfer placement 1";

std::string hex(uint64_t v) { return fmt::format("{:016x}", v); }

Json causes_json(const TimeByCause& t) {
    return {{"host_attention", t.host_attention}, {"device_attention", t.device_attention}, {"host_neurons", t.host_neurons},
            {"device_neurons", t.device_neurons}, {"visits", t.visits},                     {"head", t.head},
            {"disk", t.disk}};
}

Json expected_json(const Expected& e) {
    return {{"seconds_per_token", e.seconds}, {"tokens_per_s", e.tokens_per_s()}, {"served", e.served},
            {"host_bytes", e.host_bytes},     {"missing_ram", e.missing_ram()},   {"seconds", causes_json(e.causes)}};
}

/// A whole number in a range, from a field that must be there.
int64_t whole(const Json& object, const char* name, const std::string& label, const std::string& where, int64_t low, int64_t high) {
    const auto it = object.find(name);
    if (it == object.end() || !it->is_number_integer())
        fail(ErrorKind::bad_file, "'{}': {} has no whole number '{}'", label, where, name);
    const auto v = it->get<int64_t>();
    if (v < low || v > high) fail(ErrorKind::bad_file, "'{}': '{}' of {} is {}, expected {} to {}", label, name, where, v, low, high);
    return v;
}

}  // namespace

std::string to_json(const Workload& w, const Machine& m, const Allowance& allowance, const Solution& s) {
    Json out = {{"format", kFormat}, {"model", w.model}, {"fingerprint", hex(w.fingerprint)}, {"machine", Json::parse(to_json(m))}};
    out["vram"] = Json::array();
    for (size_t d = 0; d < m.devices.size(); ++d)
        out["vram"].push_back(room_on(m, d, w, allowance) + m.devices[d].reserved + w.scratch_bytes);
    out["placement"]["head"] = s.placement.head;
    Json& layers = out["placement"]["layers"] = Json::array();
    for (size_t l = 0; l < s.placement.layers.size(); ++l) {
        const LayerPlacement& p = s.placement.layers[l];
        layers.push_back({{"home", p.home}, {"device", p.device}, {"kv_on_device", p.kv_on_device}, {"groups", p.n_groups},
                          {"of", w.layers[l].groups.size()}, {"served", s.expected.layers[l].served}, {"seconds", s.expected.layers[l].seconds}});
    }
    out["expected"] = expected_json(s.expected);
    out["bound_seconds"] = s.bound;
    out["gap"] = s.gap();
    out["devices"] = Json::array();
    for (size_t d = 0; d < m.devices.size(); ++d) {
        const DeviceUse& u = s.expected.devices[d];
        out["devices"].push_back({{"name", m.devices[d].name}, {"total", u.total()}, {"attention", u.attention}, {"kv", u.kv},
                                  {"shared", u.shared}, {"neurons", u.neurons}, {"head", u.head}, {"scratch", u.scratch}, {"context", u.context}});
    }
    out["others"] = Json::array();
    if (!m.devices.empty())
        for (const Rule rule : {Rule::whole_layers, Rule::attention_first, Rule::hottest_neurons, Rule::powerinfer_order}) {
            Json row = expected_json(expect(w, m, allowance, place_by(rule, w, m, allowance)));
            row["rule"] = title(rule);
            out["others"].push_back(std::move(row));
        }
    return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Placement placement_from_json(std::string_view text, const std::string& label, const Workload& w) {
    const Json json = Json::parse(text, nullptr, false);
    if (!json.is_object() || !json.contains("format") || json["format"] != kFormat)
        fail(ErrorKind::bad_file, "'{}' is not a saved placement, expected JSON with \"format\": \"{}\"", label, kFormat);
    if (!json.contains("fingerprint") || json["fingerprint"] != hex(w.fingerprint))
        fail(ErrorKind::bad_file, "'{}' was made for another model, profile, sparsity mode or context than {}", label, w.model);
    if (!json.contains("placement") || !json["placement"].is_object() || !json["placement"].contains("layers") ||
        !json["placement"]["layers"].is_array())
        fail(ErrorKind::bad_file, "'{}' has no list placement.layers", label);
    const Json& placement = json["placement"];
    const Json& layers = placement["layers"];
    if (layers.size() != w.layers.size())
        fail(ErrorKind::bad_file, "'{}' places {} layers, the model has {}", label, layers.size(), w.layers.size());
    Placement p;
    p.head = static_cast<int>(whole(placement, "head", label, "the placement", kHost, kMaxDevices - 1));
    for (size_t l = 0; l < layers.size(); ++l) {
        const std::string where = fmt::format("layer {}", l);
        const Json& row = layers[l];
        if (!row.is_object() || !row.contains("kv_on_device") || !row["kv_on_device"].is_boolean())
            fail(ErrorKind::bad_file, "'{}': {} has no yes or no 'kv_on_device'", label, where);
        p.layers.push_back({.home = static_cast<int>(whole(row, "home", label, where, kHost, kMaxDevices - 1)),
                            .device = static_cast<int>(whole(row, "device", label, where, kHost, kMaxDevices - 1)),
                            .kv_on_device = row["kv_on_device"].get<bool>(),
                            .n_groups = static_cast<uint32_t>(whole(row, "groups", label, where, 0,
                                                                    static_cast<int64_t>(w.layers[l].groups.size())))});
    }
    return p;
}

}  // namespace powerinfer::plan
