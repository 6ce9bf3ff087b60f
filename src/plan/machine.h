// What placement knows of a machine: sizes, speeds and delays as plain numbers, with where they come from. Not for measuring
// them: tools do, and hand the numbers over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace powerinfer::plan {

/// How fast weights are read and used.
struct Rates {
    double bandwidth = 0;   ///< bytes per second that streaming through large matrices reaches, not the data sheet's peak
    double row_share = 1;   ///< part of it that is left where single rows are picked, 0..1
    double macs_per_s = 0;  ///< multiplications and additions with quantized weights; 0 = never the limit

    /// Seconds for weights that are read once; `share` of the rows, picked one by one unless reading all is faster.
    double seconds(double bytes, double weights, double share = 1) const;
};

struct Device {
    std::string name;
    std::string kind;          ///< "cuda", "hip", "opencl", "emulated"
    uint64_t memory = 0;       ///< bytes
    uint64_t reserved = 0;     ///< of those, what the runtime's context and the screen take
    Rates rates;
    double visit_s = 0;        ///< one way: from numbers ready on one side to the other side's first kernel at work
    double submit_s = 0;       ///< time of the processor, per visit, in which it computes nothing
    double bus_bandwidth = 0;  ///< bytes per second between host and device
    uint32_t alignment = 256;  ///< of every allocation, bytes
};

struct Machine {
    std::string name;
    std::string source;        ///< where the numbers come from
    std::string processor;
    uint64_t memory = 0;       ///< bytes of RAM
    uint64_t reserved = 0;     ///< of those, what the system and other programs take
    Rates rates;               ///< of the processor
    double disk_bandwidth = 0; ///< bytes per second from the disk that models lie on
    std::vector<Device> devices;
    /// Bytes per second that processor and devices share, where a device has no memory of its own; 0 = apart.
    double shared_bandwidth = 0;

    bool is_unified() const { return shared_bandwidth > 0; }
};

/// The described machines.
std::span<const Machine> described_machines();
/// Throws Error{bad_argument} listing the names.
const Machine& find_machine(std::string_view name);

/// Throws Error{bad_argument} naming `label` and the field where a number is missing, negative or absurd.
void check(const Machine& machine, const std::string& label);

std::string to_json(const Machine& machine);
/// Throws Error{bad_file} naming `label` and the field. What is left out is an error too, so that nothing is guessed.
Machine machine_from_json(std::string_view text, const std::string& label);

}  // namespace powerinfer::plan
