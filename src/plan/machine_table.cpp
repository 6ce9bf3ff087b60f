// The machines that plans can be made for without having them. Sizes and peak bandwidths are the makers' data sheets; what of
// a peak is reached, and delays, are taken from public measurements where there are any, else assumed, and said so.
#include "base/error.h"
#include "plan/machine.h"

namespace powerinfer::plan {
namespace {

constexpr uint64_t kGiB = uint64_t{1} << 30, kMiB = uint64_t{1} << 20;

// Reached of the peak: calm's 925 of 1008 GB/s on an RTX 4090 is 92 %; llama.cpp's 15 of 20 GB/s on an i5-6500 is 75 %, and
// newer processors come closer to the peak. What picking rows of several kilobytes leaves of it is assumed.
constexpr double kProcessorReaches = 0.85, kGpuReaches = 0.9, kProcessorRows = 0.9, kGpuRows = 0.85;
// Assumed: 15 microseconds one way between processor and GPU over PCIe (launch, copy of some ten kilobytes, wake-up), of
// which the processor is busy for 5; 80 % of the bus is reached; the context takes 500 MiB.
constexpr double kVisit = 15e-6, kSubmit = 5e-6, kBusReaches = 0.8;
constexpr double kDisk = 3e9;  // assumed: an NVMe disk of the usual kind

Device gpu(std::string name, std::string kind, uint64_t memory, double peak_bandwidth, double peak_bus) {
    return {.name = std::move(name),
            .kind = std::move(kind),
            .memory = memory,
            .reserved = 500 * kMiB,
            .rates = {.bandwidth = kGpuReaches * peak_bandwidth, .row_share = kGpuRows, .macs_per_s = 0},
            .visit_s = kVisit,
            .submit_s = kSubmit,
            .bus_bandwidth = kBusReaches * peak_bus,
            .alignment = 256};
}

Machine machine(std::string name, std::string source, std::string processor, uint64_t memory, double peak_bandwidth,
                std::vector<Device> devices) {
    return {.name = std::move(name),
            .source = std::move(source),
            .processor = std::move(processor),
            .memory = memory,
            .reserved = 2 * kGiB,
            .rates = {.bandwidth = kProcessorReaches * peak_bandwidth, .row_share = kProcessorRows, .macs_per_s = 0},
            .disk_bandwidth = kDisk,
            .devices = std::move(devices),
            .shared_bandwidth = 0};
}

std::vector<Machine> all() {
    constexpr double kPcie3x16 = 15.75e9, kPcie4x8 = 15.75e9, kPcie4x16 = 31.5e9, kPcie5x16 = 63e9;
    std::vector<Machine> table;
    const auto rtx4090 = [] { return gpu("RTX 4090", "cuda", 24564 * kMiB, 1008e9, kPcie4x16); };
    table.push_back(machine("rtx4090",
                            "NVIDIA RTX 4090 data sheet (24 GB, 1008 GB/s, PCIe 4.0 x16); two channels of DDR5-5600 by JEDEC "
                            "(89.6 GB/s); shares reached from calm's measurements; delays assumed",
                            "desktop, DDR5-5600", 64 * kGiB, 89.6e9, {rtx4090()}));
    table.push_back(machine("2xrtx4090", "as rtx4090, with two of the cards, each on PCIe 4.0 x8 as desktop boards wire them",
                            "desktop, DDR5-5600", 64 * kGiB, 89.6e9, {rtx4090(), rtx4090()}));
    for (Device& d : table.back().devices) d.bus_bandwidth = kBusReaches * kPcie4x8;
    table.push_back(machine("rtx3060",
                            "NVIDIA RTX 3060 data sheet (12 GB, 360 GB/s, PCIe 4.0 x16); two channels of DDR4-3200 by JEDEC "
                            "(51.2 GB/s); delays assumed",
                            "desktop, DDR4-3200", 32 * kGiB, 51.2e9, {gpu("RTX 3060", "cuda", 12288 * kMiB, 360e9, kPcie4x16)}));
    table.push_back(machine("rtx2080ti",
                            "NVIDIA RTX 2080 Ti data sheet (11 GB, 616 GB/s, PCIe 3.0 x16); the PC-Low of the PowerInfer paper "
                            "(i7-12700K, 64 GB at 38.4 GB/s); delays assumed",
                            "Core i7-12700K", 64 * kGiB, 38.4e9, {gpu("RTX 2080 Ti", "cuda", 11264 * kMiB, 616e9, kPcie3x16)}));
    table.push_back(machine("rx7900xtx",
                            "AMD Radeon RX 7900 XTX data sheet (24 GB, 960 GB/s, PCIe 4.0 x16); two channels of DDR5-5600 by "
                            "JEDEC (89.6 GB/s); delays assumed",
                            "desktop, DDR5-5600", 64 * kGiB, 89.6e9, {gpu("Radeon RX 7900 XTX", "hip", 24560 * kMiB, 960e9, kPcie4x16)}));
    table.push_back(machine("laptop-8gb",
                            "NVIDIA RTX 4060 Laptop data sheet (8 GB, 256 GB/s, PCIe 4.0 x8); two channels of DDR5-4800 by JEDEC "
                            "(76.8 GB/s); delays assumed",
                            "laptop, DDR5-4800", 16 * kGiB, 76.8e9, {gpu("RTX 4060 Laptop", "cuda", 8188 * kMiB, 256e9, kPcie4x8)}));
    table.push_back(machine("rk3588",
                            "Rockchip RK3588 data sheet (64 bits of LPDDR4X-4224: 33.8 GB/s; four Cortex-A76 at 2.4 GHz with 32 "
                            "8-bit multiplications a cycle, of which a third is assumed); the Mali GPU is not planned for",
                            "4 x Cortex-A76", 16 * kGiB, 33.8e9, {}));
    table.back().rates.macs_per_s = 4 * 2.4e9 * 32 / 3;
    // One memory for all: taking the GPU's help adds bandwidth only up to what the memory gives.
    Machine phone = machine("phone",
                            "OnePlus 12 as in the PowerInfer-2 paper (24 GB of LPDDR5X; 43.9 GB/s for one engine, 59.6 GB/s for "
                            "two together); Adreno 750 over OpenCL with 100 microseconds one way assumed",
                            "Snapdragon 8 Gen 3", 24 * kGiB, 43.9e9 / kProcessorReaches, {});
    phone.reserved = 6 * kGiB;
    phone.devices = {gpu("Adreno 750", "opencl", 8 * kGiB, 43.9e9 / kGpuReaches, 43.9e9 / kBusReaches)};
    phone.devices[0].visit_s = 100e-6;
    phone.devices[0].submit_s = 20e-6;
    phone.shared_bandwidth = 59.6e9;
    table.push_back(std::move(phone));
    table.push_back(machine("h200",
                            "NVIDIA H200 data sheet (141 GB, 4800 GB/s, PCIe 5.0 x16); eight of twelve channels of DDR5-4800 "
                            "assumed for a share of a server (307 GB/s); delays assumed",
                            "server, DDR5-4800", 128 * kGiB, 307e9, {gpu("H200", "cuda", 143771 * kMiB, 4800e9, kPcie5x16)}));
    for (const Machine& m : table) check(m, m.name);
    return table;
}

}  // namespace

std::span<const Machine> described_machines() {
    static const std::vector<Machine> table = all();
    return table;
}

}  // namespace powerinfer::plan
