#include "base/file_writer.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "base/error.h"

namespace powerinfer {
namespace {

namespace fs = std::filesystem;

class FileWriterTest : public testing::Test {
  protected:
    void SetUp() override {
        folder_ = fs::path(testing::TempDir()) / ("file-writer-" + std::to_string(::getpid()));
        fs::remove_all(folder_);
        fs::create_directories(folder_);
    }
    void TearDown() override { fs::remove_all(folder_); }

    std::string path(const std::string& name) const { return (folder_ / name).string(); }
    void put(const std::string& name, const std::string& text) const { std::ofstream(path(name)) << text; }
    std::string content(const std::string& name) const {
        std::ifstream file(path(name));
        return {std::istreambuf_iterator<char>(file), {}};
    }
    static void write(const std::string& path, const std::string& text) {
        FileWriter out(path);
        out.write(text.data(), text.size());
        out.commit();
    }

  private:
    fs::path folder_;
};

TEST_F(FileWriterTest, TheNameAppearsOnlyWithTheWholeFile) {
    put("a", "before");
    {
        FileWriter out(path("a"));
        out.write("half", 4);
        out.flush();
        EXPECT_EQ(content("a"), "before");
    }
    EXPECT_EQ(content("a"), "before");
    EXPECT_EQ(std::distance(fs::directory_iterator(fs::path(path("a")).parent_path()), {}), 1);
    write(path("a"), "after");
    EXPECT_EQ(content("a"), "after");
}

TEST_F(FileWriterTest, WhatIsNoFileIsNeverReplaced) {
    ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
    EXPECT_THROW(write(path("pipe"), "x"), Error);
    EXPECT_TRUE(fs::is_fifo(path("pipe")));
    fs::create_symlink(path("pipe"), path("to-pipe"));
    EXPECT_THROW(write(path("to-pipe"), "x"), Error);
    EXPECT_TRUE(fs::is_fifo(path("pipe")));
    fs::create_directory(path("folder"));
    EXPECT_THROW(write(path("folder"), "x"), Error);
}

TEST_F(FileWriterTest, ALinkStaysALink) {
    put("target", "before");
    fs::create_symlink("target", path("link"));
    write(path("link"), "after");
    EXPECT_TRUE(fs::is_symlink(path("link")));
    EXPECT_EQ(content("target"), "after");
}

TEST_F(FileWriterTest, AProtectedFileIsKept) {
    if (::geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
    put("kept", "before");
    fs::permissions(path("kept"), fs::perms::owner_read);
    EXPECT_THROW(write(path("kept"), "after"), Error);
    EXPECT_EQ(content("kept"), "before");
}

}  // namespace
}  // namespace powerinfer
