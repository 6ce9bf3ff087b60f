#include "base/memory.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <numeric>

#include "base/aligned.h"
#include "base/mapped_file.h"
#include "temporary_folder.h"

namespace powerinfer {
namespace {

TEST(Memory, SomeIsAvailable) {
    EXPECT_GT(available_memory(), uint64_t{1} << 20);
}

TEST(Memory, LargeBuffersBeginAtAHugePageAndAreZero) {
    for (const size_t size : {size_t{100}, size_t{4} << 20, size_t{8} << 20, (size_t{9} << 20) + 5}) {
        AlignedBuffer b(size);
        ASSERT_EQ(b.size(), size);
        EXPECT_EQ(reinterpret_cast<uintptr_t>(b.data()) % (size >= size_t{8} << 20 ? size_t{2} << 20 : size_t{64}), 0u);
        EXPECT_EQ(b.data()[0] + b.data()[size - 1], 0);
        std::memset(b.data(), 1, size);
    }
}

TEST(Memory, ReleasedPagesComeBackFromTheFile) {
    const test::TemporaryFolder folder;
    std::vector<char> bytes(100000);
    std::iota(bytes.begin(), bytes.end(), char{3});
    std::ofstream(folder / "f", std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    const MappedFile file(folder / "f");
    ASSERT_EQ(std::memcmp(file.bytes().data(), bytes.data(), bytes.size()), 0);
    file.release(file.bytes().data() + 10, 90000);
    file.release(file.bytes().data() + 99990, 5);  // less than a page: nothing to let go of
    EXPECT_EQ(std::memcmp(file.bytes().data(), bytes.data(), bytes.size()), 0);
}

}  // namespace
}  // namespace powerinfer
