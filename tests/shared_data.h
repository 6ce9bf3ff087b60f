// Where other people's models and vectors lie, for tests that compare with them.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace powerinfer::test {

/// The folder of shared data: POWERINFER_SHARED, or `../shared` beside the checkout.
inline std::filesystem::path shared_folder() {
    if (const char* folder = std::getenv("POWERINFER_SHARED")) return folder;
    return std::filesystem::path(POWERINFER_SOURCE_DIR).parent_path() / "shared";
}

}  // namespace powerinfer::test

/// Gives the path of a shared file or folder in `variable`, or skips the test with a message where it is absent.
#define SHARED_PATH_OR_SKIP(variable, relative)                                                    \
    const std::filesystem::path variable = powerinfer::test::shared_folder() / (relative);         \
    if (!std::filesystem::exists(powerinfer::test::shared_folder()))                               \
        GTEST_SKIP() << "no shared data here (" << powerinfer::test::shared_folder() << ")";       \
    ASSERT_TRUE(std::filesystem::exists(variable)) << variable << " is missing from the shared data"
