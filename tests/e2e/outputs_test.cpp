// Files that cannot be written or are given up half-way: a clear message, no status 0, nothing left behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>

#include <algorithm>
#include <csignal>

#include "e2e/process.h"
#include "shared_data.h"

namespace powerinfer::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;
using Words = std::vector<std::string>;

const std::string kModel = POWERINFER_SOURCE_DIR "/models/fable.gguf";

/// The commands that write a model of several MiB, each long enough to be interrupted.
std::vector<Words> writers(const std::string& out) {
    std::vector<Words> all = {
        {"quantize", kModel, out, "Q2_K", "1"},
        {"powerinfer", "synth", "tiny,n_layer=16,n_ff=8192", "-t", "1", "-o", out},
    };
    if (const auto folder = shared_folder() / "models/fable-relu"; std::filesystem::exists(folder))
        all.push_back({"powerinfer", "convert", folder.string(), "--outtype", "q2_k", "-t", "1", "-o", out});
    return all;
}

std::string last_line(const std::string& text) {
    const size_t end = text.find_last_not_of('\n');
    return end == std::string::npos ? "" : text.substr(text.rfind('\n', end) + 1);
}

/// The last of the lines is one error that names the file and the reason.
void expect_refusal(const Output& o, const std::string& out, const std::string& reason) {
    EXPECT_EQ(o.status, 1) << o.err;
    EXPECT_THAT(last_line(o.err), AllOf(StartsWith("error: "), HasSubstr(out), HasSubstr(reason)));
}

/// A file system of its own on a folder while it exists, where the machine allows that.
class Mount {
  public:
    Mount(std::string folder, unsigned long flags, const char* options)
        : folder_(std::move(folder)), there_(::mount("tmpfs", folder_.c_str(), "tmpfs", flags, options) == 0) {}
    ~Mount() {
        if (there_) ::umount2(folder_.c_str(), MNT_DETACH);
    }
    Mount(const Mount&) = delete;
    Mount& operator=(const Mount&) = delete;
    bool there() const { return there_; }

  private:
    std::string folder_;
    bool there_;
};

TEST(Outputs, AFullDiskIsSaidAndLeavesNothing) {
    const TemporaryFolder folder;
    const Mount disk(folder.path().string(), 0, "size=512k");
    if (!disk.there()) GTEST_SKIP() << "this user cannot mount a small file system";
    for (const Words& words : writers(folder / "out.gguf")) {
        SCOPED_TRACE(words[1]);
        expect_refusal(run(words), folder / "out.gguf", "No space left on device");
        EXPECT_THAT(folder.files(), IsEmpty());
    }
    const Output logits = run({"powerinfer", "logits", "-m", kModel, "--ids-file", "-", "-o", folder / "l.safetensors"},
                              {.input = [] {
                                  std::string ids;
                                  for (int i = 0; i < 100; ++i) ids += "5 ";
                                  return ids;
                              }()});
    expect_refusal(logits, folder / "l.safetensors", "No space left on device");
    EXPECT_THAT(folder.files(), IsEmpty());
}

TEST(Outputs, ALimitOnFileSizesIsSaidAndLeavesNothing) {
    const TemporaryFolder folder;
    for (const Words& words : writers(folder / "out.gguf")) {
        SCOPED_TRACE(words[1]);
        expect_refusal(run(words, {.most_file_size = 300'000}), folder / "out.gguf", "File too large");
        EXPECT_THAT(folder.files(), IsEmpty());
    }
}

TEST(Outputs, AFolderThatCannotBeWrittenIsSaid) {
    const TemporaryFolder folder;
    const auto expect_all = [&](const std::string& out, const std::string& reason) {
        for (const Words& words : writers(out)) {
            SCOPED_TRACE(words[1]);
            expect_refusal(run(words), out, reason);
        }
    };
    expect_all(folder / "nowhere/out.gguf", "nowhere");
    expect_all(kModel + "/out.gguf", "cannot write");
    std::filesystem::create_directory(folder / "closed");
    if (::geteuid() != 0) {
        std::filesystem::permissions(folder / "closed", std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
        expect_all(folder / "closed/out.gguf", "Permission denied");
        std::filesystem::permissions(folder / "closed", std::filesystem::perms::owner_all);
    } else if (const Mount disk(folder / "closed", MS_RDONLY, ""); disk.there()) {
        expect_all(folder / "closed/out.gguf", "Read-only file system");
    }
    EXPECT_TRUE(std::filesystem::is_empty(folder / "closed"));
}

TEST(Outputs, CtrlCWhileWritingLeavesNothing) {
    const TemporaryFolder folder;
    for (const Words& words : writers(folder / "out.gguf")) {
        SCOPED_TRACE(words[1]);
        int sent = 0;
        const Output o = run(words, {.on_turn = [&] {
                                 // Once, when the first of the output is there under its temporary name.
                                 if (sent > 0 || folder.files().empty()) return 0;
                                 ++sent;
                                 return SIGINT;
                             }});
        EXPECT_EQ(sent, 1);
        EXPECT_EQ(o.status, 130) << o.err;
        EXPECT_THAT(last_line(o.err), StartsWith("error: "));
        EXPECT_THAT(folder.files(), IsEmpty());
    }
}

TEST(Outputs, AFailureLeavesAnOlderFileAsItWas) {
    const TemporaryFolder folder;
    std::filesystem::copy(kModel, folder / "out.gguf");
    for (const Words& words : writers(folder / "out.gguf")) {
        SCOPED_TRACE(words[1]);
        EXPECT_EQ(run(words, {.most_file_size = 300'000}).status, 1);
        EXPECT_THAT(folder.files(), testing::ElementsAre("out.gguf"));
        EXPECT_EQ(std::filesystem::file_size(folder / "out.gguf"), std::filesystem::file_size(kModel));
    }
}

}  // namespace
}  // namespace powerinfer::test
